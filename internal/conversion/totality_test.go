package conversion

import (
	"testing"

	"sigs.k8s.io/randfill"
)

// TestConversionIsTotal checks that conversion does not panic for random field values.
func TestConversionIsTotal(t *testing.T) {
	conv := New()
	f := filler(3).NilChance(0.2)
	for range 200 {
		convertRandom(f, conv.Pod)
		convertRandom(f, conv.Node)
		convertRandom(f, conv.PersistentVolume)
		convertRandom(f, conv.PersistentVolumeClaim)
		convertRandom(f, conv.StorageClass)
		convertRandom(f, conv.CSINode)
		convertRandom(f, conv.CSIDriver)
		convertRandom(f, conv.CSIStorageCapacity)
		convertRandom(f, conv.VolumeAttachment)
		convertRandom(f, conv.Namespace)
		convertRandom(f, conv.Service)
		convertRandom(f, conv.ReplicationController)
		convertRandom(f, conv.ReplicaSet)
		convertRandom(f, conv.StatefulSet)
		convertRandom(f, conv.Budget)
		convertRandom(f, conv.PriorityClass)
		convertRandom(f, conv.ResourceClaim)
	}
}

func convertRandom[K, M any](f *randfill.Filler, convert func(*K) M) {
	var o K
	f.Fill(&o)
	convert(&o)
}
