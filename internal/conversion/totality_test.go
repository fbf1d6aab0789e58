package conversion

import (
	"testing"

	"sigs.k8s.io/randfill"
)

// Conversion must not panic for any field values.
func TestConversionIsTotal(t *testing.T) {
	in := New()
	f := filler(3).NilChance(0.2)
	for range 200 {
		filled(f, in.Pod)
		filled(f, in.Node)
		filled(f, in.PersistentVolume)
		filled(f, in.PersistentVolumeClaim)
		filled(f, in.StorageClass)
		filled(f, in.CSINode)
		filled(f, in.CSIDriver)
		filled(f, in.CSIStorageCapacity)
		filled(f, in.VolumeAttachment)
		filled(f, in.Namespace)
		filled(f, in.Service)
		filled(f, in.ReplicationController)
		filled(f, in.ReplicaSet)
		filled(f, in.StatefulSet)
		filled(f, in.Budget)
		filled(f, in.PriorityClass)
		filled(f, in.ResourceClaim)
	}
}

func filled[K, M any](f *randfill.Filler, compile func(*K) M) {
	var o K
	f.Fill(&o)
	compile(&o)
}
