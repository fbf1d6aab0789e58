// Package apierror classifies the errors of API requests where k8s.io/apimachinery has no function for it.
package apierror
