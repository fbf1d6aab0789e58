// Package tenancy tests the isolation of the users of a cluster: quotas under concurrent creates, and
// fairness under load. The clusters run in this process. With BERTH_SOAK=1, TestSlowPostsSoak has more
// connections and runs longer.
package tenancy
