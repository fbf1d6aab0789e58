// Package storage has the defaulting, preparation, validation and warnings of PersistentVolume,
// PersistentVolumeClaim and the kinds of storage.k8s.io.
package storage
