// Package controllermanager lists the controllers of `berth controller` and
// `berth up`, starts them on shared informers, and serves their health, metrics and
// configuration.
//
// A controller is added by one entry in controllers.go.
package controllermanager
