package disruption

import (
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// budgetCache caches converted budgets. Without it, each change of a pod would parse all selectors.
type budgetCache struct {
	converter *conversion.Converter
	mu        sync.Mutex
	byUID     map[types.UID]*model.Budget
}

func newBudgetCache() *budgetCache {
	return &budgetCache{converter: conversion.New(), byUID: map[types.UID]*model.Budget{}}
}

// get returns the converted budget for the resource version of b.
func (c *budgetCache) get(b *policyv1.PodDisruptionBudget) *model.Budget {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.byUID[b.UID]; m != nil && m.ResourceVersion == b.ResourceVersion && b.ResourceVersion != "" {
		return m
	}
	m := c.converter.Budget(b)
	c.byUID[b.UID] = m
	return m
}

// retain removes all budgets that are not in the list.
func (c *budgetCache) retain(existing []*policyv1.PodDisruptionBudget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	retained := make(map[types.UID]*model.Budget, len(existing))
	for _, b := range existing {
		if m := c.byUID[b.UID]; m != nil {
			retained[b.UID] = m
		}
	}
	c.byUID = retained
}
