package volume

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

func policy(p corev1.PersistentVolumeReclaimPolicy, provisioner string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = p
		if provisioner != "" {
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnDynamicallyProvisioned, provisioner)
		}
	}
}

func (w *harness) deleteClaim(name string) {
	if err := w.api.CoreV1().PersistentVolumeClaims("ns").Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func TestReclaimPolicy(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("byhand Bound c2; c1 Bound kept; c2 Bound byhand; c3 Bound made; kept Bound c1; made Bound c3")
		for _, c := range []string{"c1", "c2", "c3"} {
			w.deleteClaim(c)
		}
		w.want("byhand Failed c2; kept Released c1; made Released c3")
		w.expectEvent("byhand", "VolumeFailedDelete: error getting deleter volume plugin for volume \"byhand\": no deletable volume plugin matched")
		// A new claim of the same name does not get the volume of the old one.
		if _, err := w.api.CoreV1().PersistentVolumeClaims("ns").Create(w.ctx, newClaim("c1", "", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.UID = "again" }), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.want("byhand Failed c2; c1 Pending; kept Released c1; made Released c3")
	}, freeVolume("kept", "", "1Gi"), freeVolume("byhand", "", "2Gi", policy(corev1.PersistentVolumeReclaimDelete, "")),
		freeVolume("made", "", "3Gi", policy(corev1.PersistentVolumeReclaimDelete, "csi.example.com")),
		newClaim("c1", "", "1Gi"), newClaim("c2", "", "2Gi"), newClaim("c3", "", "3Gi"))
}

func TestClaimInUseIsProtected(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1", Volumes: []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}}}
	runController(t, func(w *harness) {
		w.want("c Bound v; v Bound c")
		w.deleteClaim("c")
		w.want("c Bound v; v Bound c")
		if err := w.api.CoreV1().Pods("ns").Delete(w.ctx, "p", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(maxRecheckInterval)
		w.want("v Released c")
	}, freeVolume("v", "", "1Gi"), newClaim("c", "", "1Gi"), pod)
}

func TestBoundVolumeIsProtected(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("c Bound v; free Available; v Bound c")
		for _, v := range []string{"v", "free"} {
			if err := w.api.CoreV1().PersistentVolumes().Delete(w.ctx, v, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.want("c Bound v; v Bound c")
		w.deleteClaim("c")
		w.want("")
	}, freeVolume("v", "", "1Gi"), freeVolume("free", "x", "1Gi"), newClaim("c", "", "1Gi"))
}

func TestClaimLost(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("c Bound v; v Bound c")
		v := w.volume("v")
		v.Finalizers = nil
		if v, err := w.api.CoreV1().PersistentVolumes().Update(w.ctx, v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(v, err)
		}
		if err := w.api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), "", "v"); err != nil {
			t.Fatal(err)
		}
		w.want("c Lost v")
		w.expectEvent("c", "ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	}, freeVolume("v", "", "1Gi"), newClaim("c", "", "1Gi"))
}

// Two volumes were reserved for one claim: it keeps one, the other becomes available.
func TestSecondVolumeIsUnbound(t *testing.T) {
	runController(t, func(w *harness) {
		w.want("a Bound c; b Available; c Bound a")
		if _, byController := w.volume("b").Annotations[volume.AnnBoundByController]; byController {
			t.Error("the annotation of the reservation is still there")
		}
	}, freeVolume("a", "", "1Gi", reserved("c", "uid-c")), freeVolume("b", "", "1Gi", reserved("c", "uid-c")), newClaim("c", "", "1Gi"))
}
