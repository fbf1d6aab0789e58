package volume

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// claimVolume returns a volume that refers to a claim.
func claimVolume(name, claim string) corev1.Volume {
	return volume(name, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

// boundClaim returns a bound claim and its volume on node n1.
func boundClaim(name, path string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: "claim"},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef:               &corev1.ObjectReference{Namespace: "shop", Name: name, UID: "claim"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
		NodeAffinity:           &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}},
	}}
	return claim, pv
}

func TestLocalClaim(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, "old", dir, "file")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	claim, pv := boundClaim("db", dir)
	h := newFixture(t, claim, pv)
	pod := podWith(claimVolume("data", "db"))
	pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: ptr.To(int64(4711))}
	h.prepare(pod)
	mounts, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil)
	if err != nil || mounts[0].HostPath != dir || !mounts[0].Readonly {
		t.Errorf("mounts %v, %v, want %s read-only", mounts, err, dir)
	}
	for name, want := range map[string]os.FileMode{".": os.ModeDir | os.ModeSetgid | 0o775, "file": 0o664} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want || info.Sys().(*syscall.Stat_t).Gid != 4711 {
			t.Errorf("%s has mode %v and group %d, %v; want group 4711 and mode %v", name, info.Mode(), info.Sys().(*syscall.Stat_t).Gid, err, want)
		}
	}
	if info, err := os.Stat("/etc/passwd"); err != nil || info.Sys().(*syscall.Stat_t).Gid == 4711 {
		t.Errorf("/etc/passwd has group 4711 or %v, want links not to be followed", err)
	}
	if u := usages(t, h, pod)["data"]; u.Claim != "db" || u.Local || u.Capacity <= 0 {
		t.Errorf("usage %+v, want that of claim db on a file system that is not local", u)
	}
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, dir, "file"); got != "old" {
		t.Errorf("file of the claim after Teardown %q, want \"old\"", got)
	}
}

func TestUnusableClaims(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		change func(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume)
		want   string
	}{
		"no claim": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) { c.Name = "other" }, `persistentvolumeclaim "db" not found`},
		"not bound": {func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Phase = corev1.ClaimPending
		}, `PVC shop/db has non-bound phase ("Pending")`},
		"no volume":              {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Name = "other" }, `persistentvolumes "pv" not found`},
		"bound to another claim": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "x" }, `PV pv is not bound to PVC shop/db (uid claim), but to shop/db (uid x)`},
		"other node":             {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { selector(v).Values[0] = "n2" }, `MountVolume.NodeAffinity check failed for volume "pv"`},
		"no path":                {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.Local.Path = dir + "/none" }, `does not exist`},
		"not block": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
		}, `volumeMode Block: ` + dir + ` is not a block device`},
		"other kind": {func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}
		}, `PV pv: unsupported kind of volume; use local or hostPath`},
	} {
		t.Run(name, func(t *testing.T) {
			claim, pv := boundClaim("db", dir)
			tc.change(claim, pv)
			h := newFixture(t, claim, pv)
			pod := podWith(claimVolume("data", "db"))
			err := h.Prepare(context.Background(), pod)
			if err == nil || !strings.HasPrefix(err.Error(), `MountVolume.SetUp failed for volume "data" : `) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Prepare: %v\nwant %s", err, tc.want)
			}
		})
	}
}

// selector returns the requirement of a local volume's node affinity.
func selector(v *corev1.PersistentVolume) *corev1.NodeSelectorRequirement {
	return &v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
}

// TestEphemeralClaim checks that the claim of an ephemeral volume must be owned by the pod.
func TestEphemeralClaim(t *testing.T) {
	claim, pv := boundClaim("web-data", t.TempDir())
	h := newFixture(t, claim, pv)
	pod := podWith(volume("data", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}))
	if err := h.Prepare(context.Background(), pod); err == nil || !strings.Contains(err.Error(), "was not created for pod") {
		t.Errorf("Prepare with a claim of another owner: %v, want \"was not created for pod\"", err)
	}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "web", UID: pod.UID, Controller: ptr.To(true)}}
	if _, err := h.client.CoreV1().PersistentVolumeClaims("shop").Update(context.Background(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.prepare(pod)
}
