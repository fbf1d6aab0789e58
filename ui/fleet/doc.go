// Package fleet encodes nodes and pods for the map of the web page. It encodes only the fields that the map shows.
// Pods are in columns, because 100,000 of them have few distinct namespaces, nodes, owners and requests.
package fleet
