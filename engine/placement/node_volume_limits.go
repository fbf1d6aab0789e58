package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// attachment is a volume as attach limits count it: by driver and handle, once
// a node, however many pods use it.
type attachment struct{ driver, handle string }

// nodeVolumeLimits rejects nodes on which the pod's new volumes would exceed what
// the node's CSI drivers can attach, and nodes that lack a driver which demands
// to be there.
func (a *attempt) nodeVolumeLimits() preFilterState {
	if len(a.pod.Spec.Claims)+len(a.pod.Spec.Inline) == 0 {
		return preFilterState{}
	}
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		for i := range a.pod.Spec.Claims {
			if text := a.limitsClaimError(&a.pod.Spec.Claims[i]); text != "" {
				return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
			}
		}
		csi, _ := a.state.CSINode(st.node.Name)
		fresh := a.attachments(nil, a.pod, csi)
		if v := a.checkDrivers(fresh, csi); v.Code != decision.Success {
			return v
		}
		if csi == nil || len(fresh) == 0 || !slices.ContainsFunc(csi.Drivers, hasLimit) {
			return decision.Verdict{}
		}
		used := a.attachedByPods(st, csi)
		fresh = slices.DeleteFunc(fresh, func(f attachment) bool { return slices.Contains(used, f) })
		return checkLimits(csi, fresh, a.withAttachments(used, st.node.Name))
	}}
}

func hasLimit(d model.CSINodeDriver) bool { return d.Limit >= 0 }

// limitsClaimError says what keeps a claim of the pod from being looked at.
func (a *attempt) limitsClaimError(c *model.PodClaim) string {
	claim, ok := a.state.PVC(a.pod.Namespace, c.Claim)
	switch {
	case !ok:
		return fmt.Sprintf("looking up PVC %s/%s: %s", a.pod.Namespace, c.Claim, notFoundMessage(c.Claim))
	case c.Ephemeral && !isOwnedByPod(claim, a.pod):
		return notOwnerMessage(claim, a.pod)
	}
	return ""
}

// checkDrivers rejects a node without a driver that prevents scheduling then.
func (a *attempt) checkDrivers(fresh []attachment, csi *model.CSINode) decision.Verdict {
	for _, f := range fresh {
		d, ok := a.state.CSIDriver(f.driver)
		if !ok || !d.PreventPodSchedulingIfMissing {
			continue
		}
		if csi == nil || !slices.ContainsFunc(csi.Drivers, func(d model.CSINodeDriver) bool { return d.Name == f.driver }) {
			return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonDriverMissing, Subject: f.driver})
		}
	}
	return decision.Verdict{}
}

// attachedByPods are the volumes of the pods on a node. A claim for an ephemeral volume that
// is not of its pod fails the whole attempt, as in kube-scheduler; the first is told.
func (a *attempt) attachedByPods(st *candidateNode, csi *model.CSINode) []attachment {
	var out []attachment
	for _, p := range st.pods {
		for i := range p.Spec.Claims {
			c := &p.Spec.Claims[i]
			if claim, ok := a.state.PVC(p.Namespace, c.Claim); ok && c.Ephemeral && !isOwnedByPod(claim, p) && a.err == "" {
				a.err = fmt.Sprintf("running %q filter plugin: %s", decision.NodeVolumeLimits, notOwnerMessage(claim, p))
			}
		}
		out = a.attachments(out, p, csi)
	}
	return out
}

// withAttachments adds the volumes that are still, or already, attached without a pod
// that uses them. A pod that comes gains nothing from its volume being among them:
// kube-scheduler counts that once more.
func (a *attempt) withAttachments(used []attachment, node string) []attachment {
	for _, va := range a.state.VolumeAttachments(node) {
		v, ok := a.state.PV(va.Volume)
		if ok && va.Attacher != "" && v.CSI.Driver != "" && v.CSI.InTree == "" {
			used = append(used, attachment{va.Attacher, v.CSI.Handle})
		}
	}
	return sortUnique(used)
}

// checkLimits counts by driver what is attached and what is new.
func checkLimits(csi *model.CSINode, fresh, attached []attachment) decision.Verdict {
	of := func(list []attachment, driver string) (n int64) {
		for i := range list {
			if list[i].driver == driver {
				n++
			}
		}
		return n
	}
	for i := range csi.Drivers {
		d := &csi.Drivers[i]
		want, used := of(fresh, d.Name), of(attached, d.Name)
		if hasLimit(*d) && want > 0 && used+want > d.Limit {
			return rejection(decision.Unschedulable, decision.Reason{
				Kind: decision.ReasonMaxVolumes, Subject: d.Name, Want: want, Used: used, Have: d.Limit,
			})
		}
	}
	return decision.Verdict{}
}

// attachments adds the volumes of a pod that count against limits on a node,
// without repetition.
func (a *attempt) attachments(out []attachment, p *model.Pod, csi *model.CSINode) []attachment {
	for i := range p.Spec.Claims {
		c := &p.Spec.Claims[i]
		claim, ok := a.state.PVC(p.Namespace, c.Claim)
		if !ok || c.Ephemeral && !isOwnedByPod(claim, p) {
			continue
		}
		if at := a.attachmentOf(claim, csi); at.driver != "" && at.handle != "" {
			out = append(out, at)
		}
	}
	for _, v := range p.Spec.Inline {
		if migratedOn(csi, v.InTree) {
			out = append(out, attachment{v.Driver, v.Handle})
		}
	}
	return sortUnique(out)
}

// attachmentOf is the volume behind a claim. One that is not made yet counts by
// its class's provisioner, under a handle that no volume has.
func (a *attempt) attachmentOf(claim *model.PersistentVolumeClaim, csi *model.CSINode) attachment {
	if claim.VolumeName != "" {
		if v, ok := a.state.PV(claim.VolumeName); ok {
			if v.CSI.InTree != "" && !migratedOn(csi, v.CSI.InTree) {
				return attachment{}
			}
			return attachment{v.CSI.Driver, v.CSI.Handle}
		}
	}
	class, ok := a.state.StorageClass(claim.ClassName())
	if !ok {
		return attachment{}
	}
	driver := class.Provisioner
	if standIn, inTree := migratedProvisioners[driver]; inTree {
		if !migratedOn(csi, driver) {
			return attachment{}
		}
		driver = standIn
	}
	return attachment{driver, "\x00" + claim.Namespace + "/" + claim.Name}
}

// migratedProvisioners are in-tree provisioners and the drivers that stand in.
var migratedProvisioners = map[string]string{
	"kubernetes.io/gce-pd":          "pd.csi.storage.gke.io",
	"kubernetes.io/aws-ebs":         "ebs.csi.aws.com",
	"kubernetes.io/azure-disk":      "disk.csi.azure.com",
	"kubernetes.io/azure-file":      "file.csi.azure.com",
	"kubernetes.io/cinder":          "cinder.csi.openstack.org",
	"kubernetes.io/vsphere-volume":  "csi.vsphere.vmware.com",
	"kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// migratedOn says whether limits count the volumes of an in-tree plugin as those
// of a CSI driver. Plugins whose migration is complete do not ask the node, if it
// has drivers at all; some others were never attached by limits.
func migratedOn(csi *model.CSINode, plugin string) bool {
	switch plugin {
	case "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder", "kubernetes.io/portworx-volume":
		return csi != nil
	}
	return false
}

func sortUnique(list []attachment) []attachment {
	slices.SortFunc(list, func(a, b attachment) int {
		return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.handle, b.handle))
	})
	return slices.Compact(list)
}
