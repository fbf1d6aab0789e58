// Package apps has the defaulting, preparation, validation and warnings of the kinds of apps/v1, and
// of ReplicationController.
package apps
