// Package scenarios is Berth as it behaves, told in texts: each *.txt file is a cluster,
// what happens to it, what is expected, and the recorded timeline. sim/script says how
// they are written.
//
//	go test ./scenarios            plays them all
//	go test ./scenarios -rewrite   records their timelines anew; the diff is the review
package scenarios
