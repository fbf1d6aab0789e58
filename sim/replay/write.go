package replay

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/informer"
	"github.com/berthproject/berth/sim/scheduler"
	"github.com/berthproject/berth/sim/store"
)

// Writer writes a journal.
type Writer struct {
	w      *bufio.Writer
	err    error
	footer footer
}

// NewWriter starts a journal of a scheduler with the options.
func NewWriter(w io.Writer, o *cluster.Options) *Writer {
	j := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	j.writeLine(header{Journal: Version, Options: fingerprint(o)})
	return j
}

// Record writes a step; it is meant for cluster.Options.Record.
func (j *Writer) Record(s *scheduler.Step) {
	if j.err != nil {
		return
	}
	out := stepLine{At: s.Now.UnixNano(), Restarted: s.Restarted, Limit: s.Limit, Wake: unixNano(s.Wake)}
	for i := range s.Inputs {
		in, err := encodeInput(&s.Inputs[i])
		if err != nil {
			j.err = err
			return
		}
		out.In = append(out.In, in)
	}
	if out.Effects, j.err = encodeEffects(s.Effects); j.err == nil {
		j.writeLine(out)
		j.footer.End++
		j.footer.Effects += len(out.Effects)
	}
}

// Close ends the journal and returns the first error.
func (j *Writer) Close() error {
	if j.err == nil {
		j.writeLine(j.footer)
	}
	if j.err != nil {
		return j.err
	}
	return j.w.Flush()
}

func (j *Writer) writeLine(v any) {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = j.w.Write(append(data, '\n'))
	}
	if err != nil && j.err == nil {
		j.err = err
	}
}

func encodeEffects(effects []scheduling.Effect) (out []json.RawMessage, err error) {
	for _, e := range effects {
		data, err := encodeEffect(e)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

func encodeInput(in *informer.Input) (out input, err error) {
	switch e := in.Event.(type) {
	case scheduling.Remove:
		out.Delete, out.Key, out.UID = removedObject(e.Object)
		return out, nil
	case scheduling.Outcome:
		out.Effect, out.Result, out.Reason = e.ID, e.Result.String(), e.Reason
	default:
		out.Upsert = store.KindOf(in.Object)
	}
	if in.Object != nil {
		if out.Object, err = json.Marshal(in.Object); err != nil {
			return out, err
		}
	}
	for _, b := range in.Budgets {
		data, err := json.Marshal(b)
		if err != nil {
			return out, err
		}
		out.Budgets = append(out.Budgets, data)
	}
	return out, nil
}

// removedObject returns kind, key and UID of a removed object, the inverse of informer.Identity.
func removedObject(object any) (store.Kind, string, string) {
	switch o := object.(type) {
	case *model.Pod:
		return store.Pods, store.Key(o.Namespace, o.Name), o.UID
	case *model.Node:
		return store.Nodes, o.Name, ""
	case *model.Namespace:
		return store.Namespaces, o.Name, ""
	case *model.Hold:
		return store.Holds, store.Key(o.Namespace, o.Name), ""
	case *model.SpreadGroup:
		kinds := map[string]store.Kind{"Service": store.Services, "ReplicationController": store.ReplicationControllers,
			"ReplicaSet": store.ReplicaSets, "StatefulSet": store.StatefulSets}
		return kinds[o.Kind], store.Key(o.Namespace, o.Name), ""
	case *model.Budget:
		return store.PodDisruptionBudgets, store.Key(o.Namespace, o.Name), ""
	case *model.PriorityClass:
		return store.PriorityClasses, o.Name, ""
	case *model.ResourceClaim:
		return store.ResourceClaims, store.Key(o.Namespace, o.Name), o.UID
	}
	return removedVolumeObject(object)
}

func removedVolumeObject(object any) (store.Kind, string, string) {
	switch o := object.(type) {
	case *model.PersistentVolume:
		return store.PersistentVolumes, o.Name, ""
	case *model.PersistentVolumeClaim:
		return store.PersistentVolumeClaims, store.Key(o.Namespace, o.Name), o.UID
	case *model.StorageClass:
		return store.StorageClasses, o.Name, ""
	case *model.CSINode:
		return store.CSINodes, o.Name, ""
	case *model.CSIDriver:
		return store.CSIDrivers, o.Name, ""
	case *model.CSIStorageCapacity:
		return store.CSIStorageCapacities, store.Key(o.Namespace, o.Name), ""
	case *model.VolumeAttachment:
		return store.VolumeAttachments, o.Name, ""
	}
	return "", "", ""
}

// fingerprint returns a hash of all options that decisions depend on.
func fingerprint(o *cluster.Options) string {
	h := sha256.New()
	q := o.Machine.Queue
	fmt.Fprintln(h, o.TieBreakSeed, o.ScoreCacheMemory, o.Preemption, q.InitialBackoff, q.MaxBackoff, q.MaxUnschedulableDuration,
		o.Machine.BindTimeout, o.Machine.ConfirmTimeout, o.Machine.RetryInterval, o.Machine.VictimsTimeout, o.Machine.AuditInterval, o.Machine.AssumedPressureDuration)
	if o.Machine.ResizePreemption {
		fmt.Fprintln(h, "resize preemption")
	}
	for _, p := range o.Profiles {
		data, err := json.Marshal(p.Config())
		fmt.Fprintln(h, string(data), err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
