// Package controllers simulates the small controllers of a cluster under virtual time. Each is the
// counterpart of the package with the same name in controllers/. Subpackage workload runs the
// workload controllers themselves; subpackage descheduler simulates the descheduler.
//
// A controller runs on a sim.Client: it has a cache that lags, and its requests may fail. Its start
// function adds it to the world.
package controllers
