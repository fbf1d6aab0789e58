// Package descheduler simulates the descheduler, planned or compatible with that of Kubernetes: a copy
// of controllers/descheduler for virtual time.
package descheduler
