// Package audit configures the audit log and webhook of k8s.io/apiserver, and bounds how long a
// blocked backend delays a request.
package audit
