package conversion

import (
	"testing"

	"sigs.k8s.io/randfill"
)

// TestConversionIsTotal checks that conversion does not panic for any field values.
func TestConversionIsTotal(t *testing.T) {
	in := New()
	f := filler(3).NilChance(0.2)
	for range 200 {
		convertRandom(f, in.Pod)
		convertRandom(f, in.Node)
		convertRandom(f, in.PersistentVolume)
		convertRandom(f, in.PersistentVolumeClaim)
		convertRandom(f, in.StorageClass)
		convertRandom(f, in.CSINode)
		convertRandom(f, in.CSIDriver)
		convertRandom(f, in.CSIStorageCapacity)
		convertRandom(f, in.VolumeAttachment)
		convertRandom(f, in.Namespace)
		convertRandom(f, in.Service)
		convertRandom(f, in.ReplicationController)
		convertRandom(f, in.ReplicaSet)
		convertRandom(f, in.StatefulSet)
		convertRandom(f, in.Budget)
		convertRandom(f, in.PriorityClass)
		convertRandom(f, in.ResourceClaim)
	}
}

func convertRandom[K, M any](f *randfill.Filler, convert func(*K) M) {
	var o K
	f.Fill(&o)
	convert(&o)
}
