// Package tenancy tests the isolation of the users of one cluster, with an API server and controllers in this
// process: quotas under concurrent creates, and fairness under load.
package tenancy
