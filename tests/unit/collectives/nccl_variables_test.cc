// Names and values of NCCL's variables.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/collectives/machines.h"

namespace foretrain {
namespace {

TEST(NcclVariables, KnownNamesAndValuesPass) {
  const std::pair<const char*, const char*> good[] = {
      {"NCCL_ALGO", "Ring"},
      {"NCCL_ALGO", "^NVLS,NVLSTree"},
      {"NCCL_ALGO", "allreduce:tree,ring;broadcast:ring"},
      {"NCCL_PROTO", "LL,Simple"},
      {"NCCL_IB_TIMEOUT", "22"},
      {"NCCL_CROSS_NIC", "2"},
      {"NCCL_NTHREADS", "256"},
      {"NCCL_DEBUG", "INFO"},
      {"NCCL_MIN_CTAS", "0x10"}};
  for (const auto& [name, value] : good)
    EXPECT_FALSE(check_nccl_variable(name, value)) << name << "=" << value;
}

TEST(NcclVariables, WhatIsNotModelledIsSaid) {
  const std::pair<const char*, const char*> unmodelled[] = {
      {"NCCL_IB_HCA", "=mlx5_0:1"}, {"NCCL_NET", "IB"},           {"NCCL_P2P_LEVEL", "SYS"},
      {"NCCL_P2P_DISABLE", "1"},    {"NCCL_SHM_DISABLE", "1"},    {"NCCL_BUFFSIZE", "8388608"},
      {"NCCL_IB_DISABLE", "1"},     {"NCCL_NET_GDR_LEVEL", "SYS"}};
  for (const auto& [name, value] : unmodelled) {
    const auto note = check_nccl_variable(name, value);
    ASSERT_TRUE(note) << name;
    EXPECT_EQ(note->severity, Severity::kNote) << name;
  }
}

TEST(NcclVariables, WrongValuesAreReported) {
  const std::pair<const char*, const char*> bad[] = {
      {"NCCL_IB_TIMEOUT", "60"}, {"NCCL_IB_RETRY_CNT", "9"},
      {"NCCL_ALGO", "Rings"},    {"NCCL_ALGO", "alltoall:ring"},
      {"NCCL_PROTO", "LL256"},   {"NCCL_CROSS_NIC", "3"},
      {"NCCL_P2P_LEVEL", "FAR"}, {"NCCL_MAX_CTAS", "0"},
      {"NCCL_NTHREADS", "100"},  {"NCCL_BUFFSIZE", "big"},
      {"NCCL_DEBUG", "LOUD"},    {"NCCL_IB_QPS_PER_CONNECTION", "0"}};
  for (const auto& [name, value] : bad) {
    const auto problem = check_nccl_variable(name, value);
    ASSERT_TRUE(problem) << name << "=" << value;
    EXPECT_FALSE(problem->hint.empty() && problem->message.empty());
  }
}

// Names from blogs that no release reads, and slips of the pen.
TEST(NcclVariables, InventedNamesAreReported) {
  for (const char* name : {"NCCL_ORDER_VIA_NVLINK", "NCCL_MAX_CHUNK_SIZE", "NCCL_MIN_CHUNK_SIZE",
                           "NCCL_IB_DISABLE_DIRECT"}) {
    const auto problem = check_nccl_variable(name, "1");
    ASSERT_TRUE(problem) << name;
    EXPECT_FALSE(problem->hint.empty()) << name;
  }
  const auto slip = check_nccl_variable("NCCL_IB_TIMOUT", "20");
  ASSERT_TRUE(slip);
  EXPECT_NE(slip->hint.find("NCCL_IB_TIMEOUT"), std::string::npos);
}

TEST(NcclVariables, ListHasNoDuplicates) {
  std::vector<std::string> names = known_nccl_variables();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_GT(names.size(), 100U);
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("NCCL_"));
}

TEST(NcclTablesFile, ReportsWhatIsWrong) {
  const auto missing = load_nccl_tables("/nowhere");
  ASSERT_FALSE(missing);
  EXPECT_GE(missing.error().size(), 5U);
}

}  // namespace
}  // namespace foretrain
