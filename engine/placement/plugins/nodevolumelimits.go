package plugins

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// attachment is a volume as attach limits count it: once per node by driver and handle.
type attachment struct{ driver, handle string }

// nodeVolumeLimits rejects nodes where the pod's new volumes would exceed the attach limit
// of a CSI driver, and nodes without a required driver.
func nodeVolumeLimits(ev *framework.Evaluation) framework.PreFilterState {
	if len(ev.Pod.Spec.Claims)+len(ev.Pod.Spec.Inline) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		for i := range ev.Pod.Spec.Claims {
			if text := unresolvedClaimError(ev, &ev.Pod.Spec.Claims[i]); text != "" {
				return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonText, Subject: text})
			}
		}
		csi, _ := ev.State.CSINode(candidate.Node.Name)
		requested := attachmentsOf(ev, nil, ev.Pod, csi)
		if v := checkDrivers(ev, requested, csi); v.Code != decision.Success {
			return v
		}
		if csi == nil || len(requested) == 0 || !slices.ContainsFunc(csi.Drivers, hasLimit) {
			return decision.Verdict{}
		}
		used := attachedByPods(ev, candidate, csi)
		requested = slices.DeleteFunc(requested, func(a attachment) bool { return slices.Contains(used, a) })
		return checkLimits(csi, requested, withAttachments(ev, used, candidate.Node.Name))
	}}
}

func hasLimit(d model.CSINodeDriver) bool { return d.Limit >= 0 }

// unresolvedClaimError returns why a claim of the pod cannot be resolved; empty if it can.
func unresolvedClaimError(ev *framework.Evaluation, c *model.PodClaim) string {
	claim, ok := ev.State.PVC(ev.Pod.Namespace, c.Claim)
	switch {
	case !ok:
		return fmt.Sprintf("looking up PVC %s/%s: %s", ev.Pod.Namespace, c.Claim, notFoundMessage(c.Claim))
	case c.Ephemeral && !isOwnedByPod(claim, ev.Pod):
		return notOwnerMessage(claim, ev.Pod)
	}
	return ""
}

// checkDrivers rejects a node without a driver that has preventPodSchedulingIfMissing.
func checkDrivers(ev *framework.Evaluation, requested []attachment, csi *model.CSINode) decision.Verdict {
	for _, a := range requested {
		d, ok := ev.State.CSIDriver(a.driver)
		if !ok || !d.PreventPodSchedulingIfMissing {
			continue
		}
		if csi == nil || !slices.ContainsFunc(csi.Drivers, func(d model.CSINodeDriver) bool { return d.Name == a.driver }) {
			return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonDriverMissing, Subject: a.driver})
		}
	}
	return decision.Verdict{}
}

// attachedByPods returns the volumes of the pods on a node. As in kube-scheduler, an ephemeral
// volume's claim that belongs to another pod fails the attempt.
func attachedByPods(ev *framework.Evaluation, candidate *framework.CandidateNode, csi *model.CSINode) []attachment {
	var out []attachment
	for _, p := range candidate.Pods {
		for i := range p.Spec.Claims {
			c := &p.Spec.Claims[i]
			if claim, ok := ev.State.PVC(p.Namespace, c.Claim); ok && c.Ephemeral && !isOwnedByPod(claim, p) && ev.Err == "" {
				ev.Err = fmt.Sprintf("running %q filter plugin: %s", decision.NodeVolumeLimits, notOwnerMessage(claim, p))
			}
		}
		out = attachmentsOf(ev, out, p, csi)
	}
	return out
}

// withAttachments adds the volumes of the node's VolumeAttachments. As in kube-scheduler, a volume of
// the pod that is attached, but used by no other pod on the node, counts twice.
func withAttachments(ev *framework.Evaluation, used []attachment, node string) []attachment {
	for _, va := range ev.State.VolumeAttachments(node) {
		v, ok := ev.State.PV(va.Volume)
		if ok && va.Attacher != "" && v.CSI.Driver != "" && v.CSI.InTree == "" {
			used = append(used, attachment{va.Attacher, v.CSI.Handle})
		}
	}
	return sortUnique(used)
}

// checkLimits rejects a node where the attached and the new volumes exceed the limit of a driver.
func checkLimits(csi *model.CSINode, requested, attached []attachment) decision.Verdict {
	countOf := func(list []attachment, driver string) (n int64) {
		for i := range list {
			if list[i].driver == driver {
				n++
			}
		}
		return n
	}
	for i := range csi.Drivers {
		d := &csi.Drivers[i]
		added, used := countOf(requested, d.Name), countOf(attached, d.Name)
		if hasLimit(*d) && added > 0 && used+added > d.Limit {
			return framework.Reject(decision.Unschedulable, decision.Reason{
				Kind: decision.ReasonMaxVolumes, Subject: d.Name, Want: added, Used: used, Have: d.Limit,
			})
		}
	}
	return decision.Verdict{}
}

// attachmentsOf adds the volumes of a pod that count against attach limits on a node,
// without duplicates.
func attachmentsOf(ev *framework.Evaluation, out []attachment, p *model.Pod, csi *model.CSINode) []attachment {
	for i := range p.Spec.Claims {
		c := &p.Spec.Claims[i]
		claim, ok := ev.State.PVC(p.Namespace, c.Claim)
		if !ok || c.Ephemeral && !isOwnedByPod(claim, p) {
			continue
		}
		if a := attachmentOf(ev, claim, csi); a.driver != "" && a.handle != "" {
			out = append(out, a)
		}
	}
	for _, v := range p.Spec.Inline {
		if migratedOn(csi, v.InTree) {
			out = append(out, attachment{v.Driver, v.Handle})
		}
	}
	return sortUnique(out)
}

// attachmentOf returns the volume of a claim. A volume not yet provisioned counts for the
// driver of the storage class with a unique handle. The result is zero if the volume does
// not count against a limit.
func attachmentOf(ev *framework.Evaluation, claim *model.PersistentVolumeClaim, csi *model.CSINode) attachment {
	if claim.VolumeName != "" {
		if v, ok := ev.State.PV(claim.VolumeName); ok {
			if v.CSI.InTree != "" && !migratedOn(csi, v.CSI.InTree) {
				return attachment{}
			}
			return attachment{v.CSI.Driver, v.CSI.Handle}
		}
	}
	class, ok := ev.State.StorageClass(claim.ClassName())
	if !ok {
		return attachment{}
	}
	driver := class.Provisioner
	if csiDriver, ok := migratedProvisioners[driver]; ok {
		if !migratedOn(csi, driver) {
			return attachment{}
		}
		driver = csiDriver
	}
	return attachment{driver, "\x00" + claim.Namespace + "/" + claim.Name}
}

// migratedProvisioners maps in-tree provisioners to CSI drivers.
var migratedProvisioners = map[string]string{
	"kubernetes.io/gce-pd":          "pd.csi.storage.gke.io",
	"kubernetes.io/aws-ebs":         "ebs.csi.aws.com",
	"kubernetes.io/azure-disk":      "disk.csi.azure.com",
	"kubernetes.io/azure-file":      "file.csi.azure.com",
	"kubernetes.io/cinder":          "cinder.csi.openstack.org",
	"kubernetes.io/vsphere-volume":  "csi.vsphere.vmware.com",
	"kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// migratedOn reports whether volumes of an in-tree plugin count as those of a CSI driver. The
// plugin's migration must be complete, and the node must have a CSINode.
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
