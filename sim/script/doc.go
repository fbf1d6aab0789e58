// Package script reads and runs text scenarios: the objects of a cluster, timed actions, and
// expectations.
//
//	# a comment
//	node n1..n3 cpu=4 memory=8Gi labels=zone=a
//	pod web cpu=500m labels=app=web priority=100
//	at 10s delete pod web
//	expect at 5s pod web bound
//	until 1m
//	----
//	0s         scenario   ...
//
// A line consists of a verb, names, and key=value words; docs/guides/simulate.md lists them. An
// unknown, repeated or superfluous word is an error with file, line and the accepted words. n1..n3
// stands for n1, n2 and n3. The text after ---- is the recorded timeline; the scenarios' test
// rewrites it with -rewrite.
//
// Random simulations are generated as scenarios, so that a failing one is a file.
package script
