package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/intake"
)

// Eviction are the eviction thresholds of a KubeletConfiguration, by signal.
type Eviction struct {
	Hard, Soft, SoftGracePeriod, MinimumReclaim map[string]string
}

// enforcePods is the value of enforceNodeAllocatable that bounds all pods together.
const enforcePods = "pods"

// Thresholds are the eviction thresholds, hard ones first, each kind by signal. With "pods" among
// enforce, hard thresholds of the node's memory hold for that of all pods together, too. The
// error is in the kubelet's words (conformance/eviction, family parse).
func (e *Eviction) Thresholds(enforce []string) ([]pressure.Threshold, error) {
	all, faults := e.read(enforce)
	if len(faults) > 0 {
		return nil, faults[0].err
	}
	return all, nil
}

// signalFault is what is wrong with an entry of one of Eviction's fields.
type signalFault struct {
	field, signal, value string
	err                  error
}

func (e *Eviction) read(enforce []string) (_ []pressure.Threshold, faults []*signalFault) {
	hard := statements("evictionHard", e.Hard, &faults)
	soft := statements("evictionSoft", e.Soft, &faults)
	graces := bySignal("evictionSoftGracePeriod", e.SoftGracePeriod, gracePeriod, &faults)
	reclaims := bySignal("evictionMinimumReclaim", e.MinimumReclaim, minimumReclaim, &faults)
	for i := range soft {
		name := soft[i].Signal.String()
		if _, given := e.SoftGracePeriod[name]; !given {
			faults = append(faults, &signalFault{"evictionSoft", name, e.Soft[name], fmt.Errorf("grace period must be specified for the soft eviction threshold %s", name)})
		}
		soft[i].Grace = graces[soft[i].Signal]
	}
	if len(faults) > 0 {
		return nil, faults
	}
	all := append(hard, soft...)
	for i := range all {
		if v, given := reclaims[all[i].Signal]; given {
			all[i].MinReclaim = &v
		}
	}
	if slices.Contains(enforce, enforcePods) {
		for _, t := range all {
			if t.Hard() && t.Signal == pressure.MemoryAvailable {
				t.Signal = pressure.AllocatableMemoryAvailable
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// bySignal reads the entries of a field.
func bySignal[V any](field string, of map[string]string, read func(pressure.Signal, string) (V, error), faults *[]*signalFault) map[pressure.Signal]V {
	out := map[pressure.Signal]V{}
	for _, name := range sortedKeys(of) {
		s, known := pressure.ParseSignal(name)
		if !known {
			*faults = append(*faults, &signalFault{field, name, of[name], fmt.Errorf("unsupported eviction signal %s", name)})
			continue
		}
		v, err := read(s, of[name])
		if err != nil {
			*faults = append(*faults, &signalFault{field, name, of[name], err})
			continue
		}
		out[s] = v
	}
	return out
}

// statements are thresholds by signal, without grace periods.
func statements(field string, of map[string]string, faults *[]*signalFault) (out []pressure.Threshold) {
	values := bySignal(field, of, threshold, faults)
	for s := range pressure.NumSignals {
		if v := values[s]; v != nil {
			out = append(out, pressure.Threshold{Signal: s, Value: *v})
		}
	}
	return out
}

// threshold reads a quantity or a percentage; nil: 0% and 100% switch the threshold off.
func threshold(s pressure.Signal, text string) (*pressure.Value, error) {
	if text == "0%" || text == "100%" {
		return nil, nil
	}
	if strings.HasSuffix(text, "%") {
		share, err := percentage(text)
		switch {
		case err != nil:
			return nil, err
		case share < 0:
			return nil, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", s, text)
		case !(share <= 1):
			return nil, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", s, text)
		case share == 0:
			return nil, nil
		}
		return &pressure.Value{Percentage: share}, nil
	}
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return nil, err
	case q.Sign() <= 0:
		return nil, fmt.Errorf("eviction threshold %s must be positive: %s", s, text)
	}
	return &pressure.Value{Quantity: intake.PressureQuantity(q)}, nil
}

// percentage is the fraction that a percentage stands for, in 32 bits as upstream.
func percentage(text string) (float32, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 32)
	if err != nil {
		return 0, err
	}
	return float32(v) / 100, nil
}

func gracePeriod(_ pressure.Signal, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("invalid eviction grace period specified: %s, must be a positive value", text)
	}
	return d, err
}

func minimumReclaim(s pressure.Signal, text string) (v pressure.Value, err error) {
	if strings.HasSuffix(text, "%") {
		v.Percentage, err = percentage(text)
		switch {
		case err != nil:
		case !(v.Percentage > 0):
			err = fmt.Errorf("eviction percentage minimum reclaim %s must be positive: %s", s, text)
		case v.Percentage > 1:
			err = fmt.Errorf("eviction percentage minimum reclaim %s must be <= 100%%: %s", s, text)
		}
		return v, err
	}
	q, err := resource.ParseQuantity(text)
	if err == nil && q.Sign() < 0 {
		err = fmt.Errorf("negative eviction minimum reclaim specified for %s", s)
	}
	return pressure.Value{Quantity: intake.PressureQuantity(q)}, err
}
