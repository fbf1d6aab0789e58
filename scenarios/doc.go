// Package scenarios holds Berth's behavior over time as text: each *.txt file describes a cluster,
// timed actions, expectations, and the recorded timeline. Package sim/script reads them. In the description,
// #NUMBER is an issue of kubernetes/kubernetes.
//
// Tests also run them with lagging watches and with every actor restarted between steps. Scenarios
// that depend on exact times (option exact) run without restarts.
//
//	go test ./scenarios            runs them all
//	go test ./scenarios -rewrite   rewrites their timelines; review the diff
package scenarios
