package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
)

// Eviction holds the eviction thresholds of a KubeletConfiguration by signal.
type Eviction struct {
	Hard, Soft, SoftGracePeriod, MinimumReclaim map[string]string
}

// enforcePods is the value of enforceNodeAllocatable that limits all pods together.
const enforcePods = "pods"

// Thresholds returns the thresholds by signal, hard ones first. If enforce contains
// "pods", hard memory thresholds also apply to the memory of all pods. Errors have the
// kubelet's text.
func (e *Eviction) Thresholds(enforce []string) ([]nodepressure.Threshold, error) {
	thresholds, thresholdErrs := e.read(enforce)
	if len(thresholdErrs) > 0 {
		return nil, thresholdErrs[0].err
	}
	return thresholds, nil
}

// thresholdError is an invalid entry of an Eviction field.
type thresholdError struct {
	field, signal, value string
	err                  error
}

// read returns the thresholds, or all invalid entries.
func (e *Eviction) read(enforce []string) (_ []nodepressure.Threshold, thresholdErrs []*thresholdError) {
	hard := parseThresholds("evictionHard", e.Hard, &thresholdErrs)
	soft := parseThresholds("evictionSoft", e.Soft, &thresholdErrs)
	gracePeriods := parseBySignal("evictionSoftGracePeriod", e.SoftGracePeriod, parseGracePeriod, &thresholdErrs)
	reclaims := parseBySignal("evictionMinimumReclaim", e.MinimumReclaim, parseMinimumReclaim, &thresholdErrs)
	for i := range soft {
		name := soft[i].Signal.String()
		if _, set := e.SoftGracePeriod[name]; !set {
			thresholdErrs = append(thresholdErrs, &thresholdError{"evictionSoft", name, e.Soft[name], fmt.Errorf("grace period must be specified for the soft eviction threshold %s", name)})
		}
		soft[i].Grace = gracePeriods[soft[i].Signal]
	}
	if len(thresholdErrs) > 0 {
		return nil, thresholdErrs
	}
	thresholds := slices.Concat(hard, soft)
	for i := range thresholds {
		if v, set := reclaims[thresholds[i].Signal]; set {
			thresholds[i].MinReclaim = &v
		}
	}
	if slices.Contains(enforce, enforcePods) {
		for _, t := range thresholds {
			if t.Hard() && t.Signal == nodepressure.MemoryAvailable {
				t.Signal = nodepressure.AllocatableMemoryAvailable
				thresholds = append(thresholds, t)
			}
		}
	}
	return thresholds, nil
}

// parseBySignal parses the entries of a field and appends errors to thresholdErrs.
func parseBySignal[V any](field string, in map[string]string, read func(nodepressure.Signal, string) (V, error), thresholdErrs *[]*thresholdError) map[nodepressure.Signal]V {
	out := map[nodepressure.Signal]V{}
	for _, name := range sortedKeys(in) {
		s, ok := nodepressure.ParseSignal(name)
		if !ok {
			*thresholdErrs = append(*thresholdErrs, &thresholdError{field, name, in[name], fmt.Errorf("unsupported eviction signal %s", name)})
			continue
		}
		v, err := read(s, in[name])
		if err != nil {
			*thresholdErrs = append(*thresholdErrs, &thresholdError{field, name, in[name], err})
			continue
		}
		out[s] = v
	}
	return out
}

// parseThresholds parses thresholds without grace periods.
func parseThresholds(field string, in map[string]string, thresholdErrs *[]*thresholdError) (out []nodepressure.Threshold) {
	values := parseBySignal(field, in, parseThreshold, thresholdErrs)
	for s := range nodepressure.NumSignals {
		if v := values[s]; v != nil {
			out = append(out, nodepressure.Threshold{Signal: s, Value: *v})
		}
	}
	return out
}

// parseThreshold parses a quantity or a percentage. It returns nil for 0% and 100%, which
// disable the threshold.
func parseThreshold(s nodepressure.Signal, text string) (*nodepressure.Value, error) {
	if text == "0%" || text == "100%" {
		return nil, nil
	}
	if strings.HasSuffix(text, "%") {
		share, err := parsePercentage(text)
		switch {
		case err != nil:
			return nil, err
		case share < 0:
			return nil, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", s, text)
		case !(share <= 1): // or NaN
			return nil, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", s, text)
		case share == 0:
			return nil, nil
		}
		return &nodepressure.Value{Percentage: share}, nil
	}
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return nil, err
	case q.Sign() <= 0:
		return nil, fmt.Errorf("eviction threshold %s must be positive: %s", s, text)
	}
	return &nodepressure.Value{Quantity: conversion.PressureQuantity(q)}, nil
}

// parsePercentage returns a percentage as a fraction, with upstream's precision of 32 bits.
func parsePercentage(text string) (float32, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 32)
	if err != nil {
		return 0, err
	}
	return float32(v) / 100, nil
}

func parseGracePeriod(_ nodepressure.Signal, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("invalid eviction grace period specified: %s, must be a positive value", text)
	}
	return d, err
}

func parseMinimumReclaim(s nodepressure.Signal, text string) (v nodepressure.Value, err error) {
	if strings.HasSuffix(text, "%") {
		v.Percentage, err = parsePercentage(text)
		switch {
		case err != nil:
		case !(v.Percentage > 0): // or NaN
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
	return nodepressure.Value{Quantity: conversion.PressureQuantity(q)}, err
}
