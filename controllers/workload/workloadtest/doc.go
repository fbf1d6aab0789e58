// Package workloadtest is where tests let loops of workloads play: an API that is not a real one, in virtual
// time, with nodes that run what is made. It decides nothing, and nothing but tests uses it.
package workloadtest
