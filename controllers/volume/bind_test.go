package volume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

const (
	immediate = storagev1.VolumeBindingImmediate
	waiting   = storagev1.VolumeBindingWaitForFirstConsumer
)

func TestSmallestMatchingVolumeIsBound(t *testing.T) {
	labeled := func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"tier": "gold"} }
	block := func(v *corev1.PersistentVolume) {
		mode := corev1.PersistentVolumeBlock
		v.Spec.VolumeMode = &mode
	}
	withSelector := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	}
	readWriteMany := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	runController(t, func(h *harness) {
		h.checkState("a Available; b Bound c; block Available; c Bound b; d Bound gold; e Pending; gold Bound d; other Available")
		c := h.claim("c")
		if q := c.Status.Capacity[corev1.ResourceStorage]; q.String() != "10Gi" || len(c.Status.AccessModes) != 1 ||
			c.Annotations[volume.AnnBindCompleted] != "yes" || c.Annotations[volume.AnnBoundByController] != "yes" {
			t.Errorf("claim %+v, want 10Gi and the binding annotations", c)
		}
		v := h.volume("b")
		if v.Spec.ClaimRef.UID != c.UID || v.Annotations[volume.AnnBoundByController] != "yes" || len(v.Finalizers) != 1 || len(c.Finalizers) != 1 {
			t.Errorf("volume %+v, want claim c and one finalizer", v)
		}
		h.checkEvent("e", "FailedBinding: no persistent volumes available for this claim and no storage class is set")
	}, freeVolume("a", "", "20Gi"), freeVolume("b", "", "10Gi"), freeVolume("block", "", "9Gi", block), freeVolume("gold", "", "50Gi", labeled),
		freeVolume("other", "slow", "9Gi"), newClaim("c", "", "8Gi"), newClaim("d", "", "8Gi", withSelector), newClaim("e", "", "1Gi", readWriteMany))
}

func TestVolumeCreatedLaterIsBound(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c Pending")
		h.checkEvent("c", "ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner")
		if _, err := h.api.CoreV1().PersistentVolumes().Create(h.ctx, freeVolume("v", "fast", "1Gi"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkState("c Bound v; v Bound c")
	}, newClass("fast", noProvisioner, immediate), newClaim("c", "fast", "1Gi"))
}

func TestConcurrentClaims(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	runController(t, func(h *harness) {
		for _, n := range names {
			_, _ = h.api.CoreV1().PersistentVolumeClaims("ns").Create(h.ctx, newClaim("claim-"+n, "", "1Gi"), metav1.CreateOptions{})
			_, _ = h.api.CoreV1().PersistentVolumes().Create(h.ctx, freeVolume("volume-"+n, "", "1Gi"), metav1.CreateOptions{})
		}
		h.waitIdle()
		for _, n := range names {
			c := h.claim("claim-" + n)
			if c.Status.Phase != corev1.ClaimBound || h.volume(c.Spec.VolumeName).Spec.ClaimRef.UID != c.UID {
				t.Errorf("%s is %s with volume %q, want Bound", c.Name, c.Status.Phase, c.Spec.VolumeName)
			}
		}
	})
}

func TestWaitForFirstConsumer(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c Pending; d Pending; v Available")
		h.checkEvent("c", "WaitForFirstConsumer: waiting for first consumer to be created before binding")
		v := h.volume("v")
		reserved("c", h.claim("c").UID)(v)
		if _, err := h.api.CoreV1().PersistentVolumes().Update(h.ctx, v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkState("c Bound v; d Pending; v Bound c")
		d := h.claim("d")
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, volume.AnnSelectedNode, "n1")
		if _, err := h.api.CoreV1().PersistentVolumeClaims("ns").Update(h.ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.waitIdle()
		if got := h.claim("d").Annotations[volume.AnnStorageProvisioner]; got != "csi.example.com" {
			t.Errorf("provisioner annotation %q, want csi.example.com", got)
		}
		h.checkEvent("d", "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'csi.example.com'")
		dynamic := freeVolume("dynamic", "dynamic", "1Gi", reserved("d", h.claim("d").UID))
		if _, err := h.api.CoreV1().PersistentVolumes().Create(h.ctx, dynamic, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkState("c Bound v; d Bound dynamic; dynamic Bound d; v Bound c")
	}, newClass("local", noProvisioner, waiting), newClass("dynamic", "csi.example.com", waiting),
		freeVolume("v", "local", "1Gi"), newClaim("c", "local", "1Gi"), newClaim("d", "dynamic", "1Gi"))
}

func TestClaimWithVolumeName(t *testing.T) {
	withVolumeName := func(v string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = v }
	}
	reservedForD := func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "d"}
	}
	runController(t, func(h *harness) {
		h.checkState("a Bound c; a2 Available; b Bound d; big Pending a2; c Bound a; d Bound b; late Pending missing; second Pending b")
		h.checkEvent("big", "VolumeMismatch: Cannot bind to requested volume \"a2\": requested PV is too small")
		h.checkEvent("second", "FailedBinding: volume \"b\" already bound to a different claim.")
	}, freeVolume("a", "", "1Gi"), freeVolume("a2", "", "1Gi"), freeVolume("b", "", "5Gi", reservedForD),
		newClaim("c", "", "1Gi", withVolumeName("a")), newClaim("d", "", "1Gi"), newClaim("big", "", "9Gi", withVolumeName("a2")),
		newClaim("late", "", "1Gi", withVolumeName("missing")), newClaim("second", "", "1Gi", withVolumeName("b")))
}

func TestDefaultClassIsAssignedRetroactively(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c Pending; classless Pending")
		class := newClass("main", "csi.example.com", waiting)
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		if _, err := h.api.StorageV1().StorageClasses().Create(h.ctx, class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.waitIdle()
		if got := h.claim("c").Spec.StorageClassName; got == nil || *got != "main" {
			t.Errorf("storage class %v, want main", got)
		}
		if got := *h.claim("classless").Spec.StorageClassName; got != "" {
			t.Errorf("storage class %q of a claim with an empty class, want none", got)
		}
	}, newClaim("c", "-", "1Gi"), newClaim("classless", "", "1Gi"))
}
