// Package componentstatus serves ComponentStatus, the deprecated health report of the control plane. Nothing is
// stored: each request runs the checks of the components.
//
// Invariants:
//
//   - A request ends after checkTimeout, even if a component does not respond.
//   - The object of an unhealthy component is returned like any other. The request does not fail.
//
// Differences from Kubernetes: a get of an unknown component returns 404, not 500.
package componentstatus
