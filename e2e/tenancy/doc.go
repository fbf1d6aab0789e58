// Package tenancy tests what keeps the users of one cluster apart, in this process: quotas under concurrent creates,
// and fairness under load. BERTH_SOAK=1 makes the load of TestSlowPostsSoak larger and longer.
package tenancy
