// Package descheduler runs the descheduler (controllers/descheduler) in the simulator, as the actor "descheduler".
package descheduler
