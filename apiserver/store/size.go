package store

import (
	"context"

	etcdmetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"
)

// sizeMonitor returns the size of etcd's database in bytes.
type sizeMonitor func(ctx context.Context) (int64, error)

// Monitor implements etcdmetrics.Monitor.
func (m sizeMonitor) Monitor(ctx context.Context) (etcdmetrics.StorageMetrics, error) {
	size, err := m(ctx)
	return etcdmetrics.StorageMetrics{Size: size}, err
}

// Close implements etcdmetrics.Monitor. It does nothing: the backend owns the client.
func (sizeMonitor) Close() error { return nil }

// reportSize exports the size as apiserver_storage_size_bytes until the backend closes.
func (b *Backend) reportSize(size sizeMonitor) {
	etcdmetrics.SetStorageMonitorGetter(func() ([]etcdmetrics.Monitor, error) { return []etcdmetrics.Monitor{size}, nil })
	b.closers = append([]func(){func() {
		etcdmetrics.SetStorageMonitorGetter(func() ([]etcdmetrics.Monitor, error) { return nil, nil })
	}}, b.closers...)
}
