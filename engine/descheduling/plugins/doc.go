// Package plugins holds the descheduling strategies, one file each, named as the plugins of the
// Kubernetes descheduler.
//
// Each strategy implements descheduling.Strategy: it proposes candidates to a Round, which
// applies the profile's evictor and the limits of the policy. Compatible and planned mode run
// the same strategies. In compatible mode they select the same pods as the Kubernetes
// descheduler 0.36 (see package conformance).
//
// To add a strategy, write its file here, add its arguments to the decoder in
// internal/config/descheduler_args.go, and add it to allStrategies in invariants_test.go.
package plugins
