// Command coredns is CoreDNS with the plugins that specs of the suite configure. The suite's general image contains it.
// A separate module keeps its dependencies out of those of Berth.
package main
