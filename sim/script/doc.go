// Package script reads and runs text scenarios: what a cluster holds, what happens
// when, and what is expected of it.
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
// A line is a verb, names, and words of the form key=value; docs/simulate.md lists
// them. A word that is unknown, left over, or given twice is an error with file and line and
// what would be right. n1..n3 stands for n1, n2 and n3. What stands after ---- is the
// recorded timeline, which -rewrite of the scenarios' test writes anew.
//
// The language is the one way to say what happens in a simulation: random simulations
// are made as scenarios, so that one that fails is a file at once.
package script
