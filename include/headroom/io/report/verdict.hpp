// Distributed under the Boost Software License, Version 1.0.
// Whether it fits, and by how much, in a phrase.
#pragma once

#include <headroom/io/report/text_table.hpp>
#include <headroom/report.hpp>

namespace headroom::io {

template <class Ranks>
std::string verdict_text(const basic_report<Ranks>& r) {
  const std::string where = r.size > 1 ? " on the tightest GPU" : " on each GPU";
  const auto spare = r.headroom();
  const std::string open = r.assumptions.has(assumption::replay_too_long) ? "" : ": a replay decides";
  if (r.fits()) return "FITS with " + gib_text(spare) + " of headroom" + where;
  if (spare >= bytes{0} && r.may_fit()) return "MAY FIT: " + gib_text(spare) + " are left" + where + ", and fragmentation may take more" + open;
  if (spare < bytes{0} && r.may_fit()) return "MAY FIT" + open;
  if (spare < bytes{0}) return "DOES NOT FIT: " + gib_text(-spare) + " too much" + where;
  if (r.host.capacity > bytes{0} && r.host.per_node > r.host.capacity)
    return "DOES NOT FIT: " + gib_text(r.host.per_node - r.host.capacity) + " too much host memory on each node";
  return "DOES NOT FIT: " + gib_text(r.nvme_per_node - r.nvme_capacity) + " too much NVMe on each node";
}

}  // namespace headroom::io
