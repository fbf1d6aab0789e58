// Package podtest builds pods for the tests of package podvalidation and its subpackages.
package podtest
