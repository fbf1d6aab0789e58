package runner

import (
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"
)

// Environment is the source of time and randomness of a controller.
type Environment struct {
	clock.WithTicker
	// NameSuffix returns the random end of an object's name.
	NameSuffix func() string
}

// suffixLength is the length of a generated name's suffix, as in the API server.
const suffixLength = 5

// Production returns the environment of a running process: the wall clock and unpredictable names.
func Production() Environment {
	return Environment{WithTicker: clock.RealClock{}, NameSuffix: func() string { return rand.String(suffixLength) }}
}
