// The modes of the program: each takes a request and answers with its part of the result.
#pragma once

#include "backend.hpp"
#include "json.hpp"

namespace harness {

Json calibrate(Backend& backend, const Json& request);
Json tune(Backend& backend, const Json& request);
Json replay(Backend& backend, const Json& request);

// Of a request; 0 by default.
int device_number(const Json& request);

// The other side of `calibrate`'s change of processes: runs one empty piece of work for each byte read, and writes its span.
int serve_peer(int device);

}  // namespace harness
