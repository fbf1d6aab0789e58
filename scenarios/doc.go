// Package scenarios is Berth as it behaves, told in texts: each *.txt file is a cluster,
// what happens to it, what is expected, and the recorded timeline. sim/script says how
// they are written.
//
// What features.md lists of evictions, budgets, taints, lost nodes and pod GC is named in
// their first lines; rows_test.go looks that no row is missing. All are played again with watches
// that lag, and with every actor restarted between steps but those that are about one moment or an actor that is down (option exact).
//
//	go test ./scenarios            plays them all
//	go test ./scenarios -rewrite   records their timelines anew; the diff is the review
package scenarios
