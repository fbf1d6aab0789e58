// Package controllermanager lists the controllers of `berth controller` and
// `berth up`, starts them on shared informers, and serves their health, metrics and
// configuration.
//
// To add a controller, add an entry to Controllers.
package controllermanager
