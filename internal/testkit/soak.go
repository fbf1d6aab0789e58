package testkit

import "os"

// SoakRuns returns soak if BERTH_SOAK is set, as by `make soak`, and runs if it is not.
func SoakRuns(runs, soak int) int {
	if os.Getenv("BERTH_SOAK") != "" {
		return soak
	}
	return runs
}
