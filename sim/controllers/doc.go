// Package controllers simulates the small controllers of a cluster: copies of the packages of the same
// names in controllers/, for virtual time. Those of workloads and the descheduler are subpackages.
//
// A controller runs on a sim.Client: it has a cache that lags, and its requests may fail. Its start
// function adds it to the world.
package controllers
