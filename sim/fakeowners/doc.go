// Package fakeowners simulates owners that exist only by name in scenarios: it replaces annotated
// pods that are deleted or fail, and counts the desired replicas of their owner.
package fakeowners
