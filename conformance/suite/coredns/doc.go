// Command coredns is CoreDNS with the plugins that specs of the suite configure. The suite's general image contains it.
// As a module of its own it leaves the versions of Berth's dependencies unchanged.
package main
