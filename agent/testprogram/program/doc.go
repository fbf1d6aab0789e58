// Command program is the workload as a small static program of its own, which
// tests put into images.
package main
