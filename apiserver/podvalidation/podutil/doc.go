// Package podutil has helpers for pod specs that the packages below podvalidation share.
package podutil
