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
	labelled := func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"tier": "gold"} }
	block := func(v *corev1.PersistentVolume) {
		mode := corev1.PersistentVolumeBlock
		v.Spec.VolumeMode = &mode
	}
	restrict := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	}
	many := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	runController(t, func(w *harness) {
		w.want("a Available; b Bound c; block Available; c Bound b; d Bound gold; e Pending; gold Bound d; other Available")
		c := w.claim("c")
		if q := c.Status.Capacity[corev1.ResourceStorage]; q.String() != "10Gi" || len(c.Status.AccessModes) != 1 ||
			c.Annotations[volume.AnnBindCompleted] != "yes" || c.Annotations[volume.AnnBoundByController] != "yes" {
			t.Errorf("claim is %+v", c)
		}
		v := w.volume("b")
		if v.Spec.ClaimRef.UID != c.UID || v.Annotations[volume.AnnBoundByController] != "yes" || len(v.Finalizers) != 1 || len(c.Finalizers) != 1 {
			t.Errorf("volume is %+v", v)
		}
		w.expectEvent("e", "FailedBinding: no persistent volumes available for this claim and no storage class is set")
	}, freeVolume("a", "", "20Gi"), freeVolume("b", "", "10Gi"), freeVolume("block", "", "9Gi", block), freeVolume("gold", "", "50Gi", labelled),
		freeVolume("other", "slow", "9Gi"), newClaim("c", "", "8Gi"), newClaim("d", "", "8Gi", restrict), newClaim("e", "", "1Gi", many))
}

func TestVolumeCreatedLaterIsBound(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("c Pending")
		w.expectEvent("c", "ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner")
		if _, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, freeVolume("v", "now", "1Gi"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.want("c Bound v; v Bound c")
	}, class("now", noProvisioner, immediate), newClaim("c", "now", "1Gi"))
}

func TestConcurrentClaims(t *testing.T) {
	var existing []string
	runController(t, func(w *harness) {
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			existing = append(existing, n)
			_, _ = w.api.CoreV1().PersistentVolumeClaims("ns").Create(w.ctx, newClaim("claim-"+n, "", "1Gi"), metav1.CreateOptions{})
			_, _ = w.api.CoreV1().PersistentVolumes().Create(w.ctx, freeVolume("volume-"+n, "", "1Gi"), metav1.CreateOptions{})
		}
		w.waitIdle()
		for _, n := range existing {
			c := w.claim("claim-" + n)
			if c.Status.Phase != corev1.ClaimBound || w.volume(c.Spec.VolumeName).Spec.ClaimRef.UID != c.UID {
				t.Errorf("%s is %s on %q", c.Name, c.Status.Phase, c.Spec.VolumeName)
			}
		}
	})
}

func TestWaitForFirstConsumer(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("c Pending; d Pending; v Available")
		w.expectEvent("c", "WaitForFirstConsumer: waiting for first consumer to be created before binding")
		v := w.volume("v")
		reserved("c", w.claim("c").UID)(v)
		if _, err := w.api.CoreV1().PersistentVolumes().Update(w.ctx, v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.want("c Bound v; d Pending; v Bound c")
		d := w.claim("d")
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, volume.AnnSelectedNode, "n1")
		if _, err := w.api.CoreV1().PersistentVolumeClaims("ns").Update(w.ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.waitIdle()
		if got := w.claim("d").Annotations[volume.AnnStorageProvisioner]; got != "csi.example.com" {
			t.Errorf("the notified provisioner is %q", got)
		}
		w.expectEvent("d", "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'csi.example.com'")
		made := freeVolume("made", "made", "1Gi", reserved("d", w.claim("d").UID))
		if _, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.want("c Bound v; d Bound made; made Bound d; v Bound c")
	}, class("local", noProvisioner, waiting), class("made", "csi.example.com", waiting),
		freeVolume("v", "local", "1Gi"), newClaim("c", "local", "1Gi"), newClaim("d", "made", "1Gi"))
}

func TestClaimWithVolumeName(t *testing.T) {
	names := func(v string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = v }
	}
	kept := func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: "d"}
	}
	runController(t, func(w *harness) {
		w.want("a Bound c; a2 Available; b Bound d; big Pending a2; c Bound a; d Bound b; late Pending nowhere; thief Pending b")
		w.expectEvent("big", "VolumeMismatch: Cannot bind to requested volume \"a2\": requested PV is too small")
		w.expectEvent("thief", "FailedBinding: volume \"b\" already bound to a different claim.")
	}, freeVolume("a", "", "1Gi"), freeVolume("a2", "", "1Gi"), freeVolume("b", "", "5Gi", kept),
		newClaim("c", "", "1Gi", names("a")), newClaim("d", "", "1Gi"), newClaim("big", "", "9Gi", names("a2")),
		newClaim("late", "", "1Gi", names("nowhere")), newClaim("thief", "", "1Gi", names("b")))
}

func TestDefaultClassIsAssignedRetroactively(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("c Pending; none Pending")
		main := class("main", "csi.example.com", waiting)
		main.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		if _, err := w.api.StorageV1().StorageClasses().Create(w.ctx, main, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.waitIdle()
		if got := w.claim("c").Spec.StorageClassName; got == nil || *got != "main" {
			t.Errorf("class is %v", got)
		}
		if got := *w.claim("none").Spec.StorageClassName; got != "" {
			t.Errorf("a claim without a class got %q", got)
		}
	}, newClaim("c", "-", "1Gi"), newClaim("none", "", "1Gi"))
}
