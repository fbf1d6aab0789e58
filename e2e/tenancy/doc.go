// Package tenancy tests what keeps the users of one cluster apart, with an API server and controllers in this
// process: quotas under concurrent creates, and fairness under load.
package tenancy
