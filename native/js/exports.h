#pragma once

#include <napi.h>

// Each function adds one part of the addon to its exports. Apart from addon.h and the conversions
// of values (values.h, flags.h, info.h, ..._js.h), no other header needs node-addon-api.
namespace fab {

// version, libraryPath, strerror, getinfo, query, infoToString, getparams.
void exportInfo(Napi::Object exports);
// nameTables() with all tables of flags.h, namesFromBits(id, bits), bitsFromNames(id, names) and
// nearestNames(wrong, names).
void exportFlags(Napi::Object exports);
void exportFabric(Napi::Object exports);
void exportDomain(Napi::Object exports);
void exportEngineCalls(Napi::Object exports);
void exportDomainState(Napi::Object exports);
void exportAddressVector(Napi::Object exports);
void exportAddressInsertion(Napi::Object exports);
// The insertions that run off the event loop.
void exportInsertionWorkers(Napi::Object exports);
void exportCompletionQueue(Napi::Object exports);
void exportCounter(Napi::Object exports);
void exportMemoryRegion(Napi::Object exports);
void exportDeviceMemory(Napi::Object exports);
void exportRemoteRegion(Napi::Object exports);
void exportReceiveBuffers(Napi::Object exports);
void exportEndpoint(Napi::Object exports);
void exportEndpointOpening(Napi::Object exports);
void exportEndpointOptions(Napi::Object exports);
// batchCreate, batchDestroy; engine/batch.h defines a batch.
void exportBatch(Napi::Object exports);
void exportEfa(Napi::Object exports);
void exportTransfer(Napi::Object exports);
void exportTransferOrders(Napi::Object exports);
void exportTransferMemory(Napi::Object exports);
// Memory of malloc(3).
void exportHeap(Napi::Object exports);
// The sessions of libfabric/net.
void exportNet(Napi::Object exports);
void exportNetPorts(Napi::Object exports);
// The files and checksums of libfabric/objects.
void exportStorage(Napi::Object exports);

}  // namespace fab
