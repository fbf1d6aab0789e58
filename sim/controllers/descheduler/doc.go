// Package descheduler simulates the descheduler in planned and compatible mode. It is the counterpart
// of controllers/descheduler under virtual time.
package descheduler
