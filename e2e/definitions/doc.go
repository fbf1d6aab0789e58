// Command definitions measures the memory of the API server with CustomResourceDefinitions.
//
// For each number of definitions it starts a process with an API server. It creates the definitions, waits
// until they are established, and reads the resident memory of the process. It reads the memory again after
// a request for the objects of each definition, which creates their storage.
//
// The definitions have 100 to 500 properties, nested in three levels and with descriptions, as those of
// cert-manager or Kueue have. The client is in the same process.
package main
