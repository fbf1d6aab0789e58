// Package tenancy tests the isolation of the users of one cluster, in this process: quotas under concurrent creates,
// and fairness under load. BERTH_SOAK=1 makes the load of TestSlowPostsSoak larger and longer.
package tenancy
