// Package defaulting sets fields that have no value. The defaults of pods and of all other kinds share it.
package defaulting
