//===- LinearSystem.cpp - Linear inequalities over integers ---------------===//

#include "passes/memory/verify/LinearSystem.h"

#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;
using llvm::DynamicAPInt;

/// Limit on the variables of a proof that are split into cases. The work
/// doubles with each split variable, and bodies need one or two.
static constexpr unsigned kMaxSplits = 6;

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

std::optional<int64_t> LinearForm::getConstant() const {
  if (!terms.empty() || constant > INT64_MAX || constant < INT64_MIN)
    return std::nullopt;
  return static_cast<int64_t>(constant);
}

LinearForm &LinearForm::operator+=(const LinearForm &other) {
  constant += other.constant;
  for (const auto &[variable, coefficient] : other.terms) {
    auto [it, isNew] = terms.try_emplace(variable, coefficient);
    if (isNew)
      continue;
    it->second += coefficient;
    if (it->second == 0)
      terms.erase(it);
  }
  return *this;
}

LinearForm &LinearForm::operator*=(const DynamicAPInt &factor) {
  if (factor == 0)
    terms.clear();
  constant *= factor;
  for (auto &[variable, coefficient] : terms)
    coefficient *= factor;
  return *this;
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

bool Interval::isWithin(int64_t first, int64_t last) const {
  return least && most && *least >= first && *most <= last;
}

Interval ark::unite(const Interval &left, const Interval &right) {
  Interval both;
  if (left.least && right.least)
    both.least = std::min(*left.least, *right.least);
  if (left.most && right.most)
    both.most = std::max(*left.most, *right.most);
  return both;
}

Interval LinearSystem::getInterval(const LinearForm &form) const {
  Interval interval{form.constant, form.constant};
  auto add = [](std::optional<DynamicAPInt> &sum,
                const std::optional<DynamicAPInt> &bound,
                const DynamicAPInt &coefficient) {
    if (sum && bound)
      *sum += *bound * coefficient;
    else
      sum = std::nullopt;
  };
  for (const auto &[variable, coefficient] : form.terms) {
    const Interval &own = variables[variable].interval;
    bool ascends = coefficient > 0;
    add(interval.least, ascends ? own.least : own.most, coefficient);
    add(interval.most, ascends ? own.most : own.least, coefficient);
  }
  return interval;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

LinearForm LinearSystem::createVariable(Interval interval) {
  variables.emplace_back();
  variables.back().interval = std::move(interval);
  return LinearForm::variable(variables.size() - 1);
}

LinearForm LinearSystem::createBetween(const LinearForm &first,
                                       const LinearForm &last, bool isUniform) {
  LinearForm variable =
      createVariable({getInterval(first).least, getInterval(last).most});
  variables.back().isUniform = isUniform;
  variables.back().facts = {variable - first, last - variable};
  return variable;
}

LinearForm LinearSystem::createFloorDiv(const LinearForm &dividend,
                                        int64_t divisor) {
  Interval interval = getInterval(dividend);
  for (std::optional<DynamicAPInt> *bound : {&interval.least, &interval.most})
    if (*bound)
      **bound = floorDiv(**bound, DynamicAPInt(divisor));
  LinearForm quotient = createVariable(std::move(interval));
  LinearForm remainder = dividend - quotient * divisor;
  variables.back().facts = {remainder, LinearForm(divisor - 1) - remainder};
  return quotient;
}

LinearForm LinearSystem::getMinimum(LinearForm left, LinearForm right) {
  if (right < left)
    std::swap(left, right);
  if (!(left < right))
    return left;
  auto [it, isNew] = minima.try_emplace({left, right});
  if (isNew) {
    Interval interval = unite(getInterval(left), getInterval(right));
    for (const LinearForm &operand : {left, right})
      if (std::optional<DynamicAPInt> most = getInterval(operand).most)
        interval.most = interval.most ? std::min(*interval.most, *most) : *most;
    LinearForm minimum = createVariable(std::move(interval));
    variables.back().isUniform = isUniform(left) && isUniform(right);
    variables.back().facts = {left - minimum, right - minimum};
    variables.back().cases = {{minimum - left}, {minimum - right}};
    it->second = minimum;
  }
  return it->second;
}

LinearSystem::Variable &LinearSystem::getVariable(const LinearForm &variable) {
  assert(variable.terms.size() == 1 && variable.constant == 0);
  return variables[variable.terms.begin()->first];
}

void LinearSystem::setFacts(const LinearForm &variable, Facts facts) {
  getVariable(variable).facts = std::move(facts);
}

void LinearSystem::setCases(const LinearForm &variable,
                            SmallVector<Facts, 0> cases) {
  getVariable(variable).cases = std::move(cases);
}

bool LinearSystem::isUniform(const LinearForm &form) const {
  return llvm::all_of(form.terms, [&](const auto &term) {
    return variables[term.first].isUniform;
  });
}

LinearForm
LinearSystem::renameVarying(const LinearForm &form,
                            llvm::DenseMap<unsigned, unsigned> &names) {
  LinearForm renamed;
  renamed.constant = form.constant;
  for (const auto &[variable, coefficient] : form.terms) {
    if (variables[variable].isUniform) {
      renamed.terms[variable] = coefficient;
      continue;
    }
    auto [it, isNew] = names.try_emplace(variable, variables.size());
    renamed.terms[it->second] = coefficient;
    if (!isNew)
      continue;
    unsigned name = it->second;
    variables.emplace_back();
    Variable old = variables[variable], copy;
    copy.interval = old.interval;
    for (const LinearForm &fact : old.facts)
      copy.facts.push_back(renameVarying(fact, names));
    for (const Facts &facts : old.cases) {
      copy.cases.emplace_back();
      for (const LinearForm &fact : facts)
        copy.cases.back().push_back(renameVarying(fact, names));
    }
    variables[name] = std::move(copy);
  }
  return renamed;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

/// Returns the strongest equivalent inequality over integers: divides the
/// coefficients by their common divisor and rounds the constant down.
static LinearForm tighten(const LinearForm &fact) {
  DynamicAPInt divisor(0);
  for (const auto &[variable, coefficient] : fact.terms)
    divisor = gcd(divisor, abs(coefficient));
  if (divisor == 0 || divisor == 1)
    return fact;
  LinearForm tight;
  tight.constant = floorDiv(fact.constant, divisor);
  for (const auto &[variable, coefficient] : fact.terms)
    tight.terms[variable] = coefficient / divisor;
  return tight;
}

/// Returns true if no rational numbers satisfy all facts.
static bool haveNoSolution(ArrayRef<LinearForm> facts) {
  std::map<unsigned, unsigned> columns;
  for (const LinearForm &fact : facts)
    for (const auto &[variable, coefficient] : fact.terms)
      columns.try_emplace(variable, columns.size());
  presburger::Simplex simplex(columns.size());
  for (const LinearForm &fact : facts) {
    LinearForm tight = tighten(fact);
    SmallVector<DynamicAPInt> row(columns.size() + 1, DynamicAPInt(0));
    for (const auto &[variable, coefficient] : tight.terms)
      row[columns[variable]] = coefficient;
    row.back() = tight.constant;
    simplex.addInequality(row);
    if (simplex.isEmpty())
      return true;
  }
  return false;
}

/// Returns true if the facts contradict each other, given the facts and cases
/// of their variables.
bool LinearSystem::isImpossible(Facts facts, unsigned numSplits) {
  llvm::SetVector<unsigned> used;
  for (size_t next = 0, seen = 0; next < facts.size(); ++next) {
    for (const auto &[variable, coefficient] : facts[next].terms)
      used.insert(variable);
    for (; seen < used.size(); ++seen)
      facts.append(variables[used[seen]].facts);
  }
  if (haveNoSolution(facts))
    return true;
  // Splits the variable that was created last: it has the highest index.
  std::optional<unsigned> split;
  for (unsigned variable : used)
    if (!variables[variable].cases.empty() && (!split || variable > *split))
      split = variable;
  if (!split || numSplits == kMaxSplits)
    return false;
  // Removes the cases of the variable during the recursion: inside of a case,
  // the case is a fact.
  SmallVector<Facts, 0> cases;
  std::swap(cases, variables[*split].cases);
  bool isImpossibleInAll = llvm::all_of(cases, [&](const Facts &ofCase) {
    Facts all = facts;
    all.append(ofCase);
    return isImpossible(std::move(all), numSplits + 1);
  });
  std::swap(cases, variables[*split].cases);
  return isImpossibleInAll;
}
