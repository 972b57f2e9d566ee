(** The margin of an answer: a level with noise, clipped before and, where the noise has no end, clamped after. In integers.

    A table has entries out of ONE, one for each level from [lowest] on: how often yes is said there. Noise N has them as its
    tails, so that N >= -l comes up with entry l of ONE. It takes the value -lowest with the first entry, each value below with
    what the next entry has more, and the value after those with what the last entry lacks of ONE. An end whose entry is 0, or
    ONE, is the noise's own; beyond another end the noise goes on, and the value there stands for all of them.

    [margin l S] of ONE is how often l + N is in a set S. S may be anything, also what becomes of a margin in anyone's hands.
    That rows of the table are private is in Table.v and LineCertificate.v; here it is that the whole margin is ([all_events]),
    with the very same ratio and delta; that its sign is the table's yes ([sign_exact]); and what the margin says of the truth:
    a p-value ([p_value_sound]), certainty ([certain_sound]) and a bound ([at_least_sound]). *)

From Coq Require Import ZArith QArith Lia Bool List.
From Duotone Require Import Table.
Import ListNotations.
Open Scope Z_scope.

(** Levels that are further out are not told apart: from -cap to cap - 1. Neighbours' levels stay within 1. *)
Definition clip (cap l : Z) := Z.max (- cap) (Z.min (cap - 1) l).

Lemma clip_near cap l l' : Z.abs (l - l') <= 1 -> Z.abs (clip cap l - clip cap l') <= 1.
Proof. unfold clip; lia. Qed.

Lemma clip_sign cap l : 1 <= cap -> (0 <=? clip cap l) = (0 <=? l).
Proof. unfold clip; intros; destruct (Z.leb_spec 0 l), (Z.leb_spec 0 (Z.max (- cap) (Z.min (cap - 1) l))); lia. Qed.

Section Margin.
Variables (one : Z).

(** How often each value comes up, from the largest on, where entries below [before] were spent on larger ones. *)
Fixpoint row (before : Z) (yes : list Z) : list Z :=
  match yes with [] => [one - before] | t :: yes => t - before :: row t yes end.

(** How often a value in S does, where the first number is that of k. *)
Fixpoint heard (weights : list Z) (k : Z) (S : Z -> bool) : Z :=
  match weights with [] => 0 | w :: weights => (if S k then w else 0) + heard weights (k - 1) S end.

Definition margin (lowest : Z) (yes : list Z) (l : Z) (S : Z -> bool) : Z := heard (row 0 yes) (l - lowest) S.

(** ** The check over all events: `over_all_events` and `margin_is_private` in the code *)

(** By how much one row is more than the ratio times another, added up where it is. *)
Fixpoint excess (left right : Z) (ps qs : list Z) : Z :=
  match ps, qs with p :: ps, q :: qs => Z.max 0 (left * p - right * q) + excess left right ps qs | _, _ => 0 end.

Definition over_all_events (y d : Q) (ps qs : list Z) : bool :=
  let left := Zpos (Qden y * Qden d) in
  let right := Qnum y * Zpos (Qden d) in
  let room := Zpos (Qden y) * Qnum d * one in
  (excess left right ps qs <=? room) && (excess left right qs ps <=? room).

(** Entries rise from 0 to ONE. *)
Definition rising (yes : list Z) : bool := forallb (Z.leb 0) (row 0 yes).

(** At level l the last value but one and the last are as good as one, at level l + 1 the first two are. *)
Definition margin_is_private (y d : Q) (yes : list Z) : bool :=
  rising yes && over_all_events y d (row 0 (tl yes)) (row 0 (removelast yes)).

(** ** Events *)

Lemma heard_ext weights k S S' : (forall j, S j = S' j) -> heard weights k S = heard weights k S'.
Proof. intros E; revert k; induction weights as [| w ws IH]; intros k; simpl; [|rewrite E, IH]; reflexivity. Qed.

Lemma heard_shift weights k S : heard weights (k + 1) S = heard weights k (fun j => S (j + 1)).
Proof.
  revert k; induction weights as [| w ws IH]; intros k; simpl; [reflexivity|].
  replace (k + 1 - 1) with (k - 1 + 1) by lia. rewrite IH; reflexivity.
Qed.

Lemma heard_nothing weights k : heard weights k (fun _ => false) = 0.
Proof. revert k; induction weights as [| w ws IH]; intros k; simpl; [reflexivity | apply IH]. Qed.

Lemma heard_everything yes before k : heard (row before yes) k (fun _ => true) = one - before.
Proof. revert before k; induction yes as [| t yes IH]; intros before k; simpl; [lia | rewrite IH; lia]. Qed.

Lemma heard_complement yes before k S :
  heard (row before yes) k (fun j => negb (S j)) = one - before - heard (row before yes) k S.
Proof. revert before k; induction yes as [| t yes IH]; intros before k; simpl; [|rewrite IH]; destruct (S k); simpl; lia. Qed.

Lemma row_length before yes : length (row before yes) = Datatypes.S (length yes).
Proof. revert before; induction yes as [| t yes IH]; intros before; simpl; [|rewrite IH]; reflexivity. Qed.

(** A value of which nothing comes up, or which is in a set just where its neighbour is, may be left out. *)
Lemma without_first t yes k S :
  t = 0 \/ S (k + 1) = S k -> heard (row 0 (t :: yes)) (k + 1) S = heard (row 0 yes) k S.
Proof.
  intros H. simpl. replace (k + 1 - 1) with k by lia.
  assert (E : heard (row t yes) k S = heard (row 0 yes) k S - (if S k then t else 0)) by
    (destruct yes; simpl; destruct (S k); lia).
  rewrite E. destruct H as [-> | ->]; destruct (S k), (S (k + 1)); lia.
Qed.

Lemma without_last t yes before k S :
  let last := k - Z.of_nat (length yes) in
  t = one \/ S last = S (last - 1) -> heard (row before (yes ++ [t])) k S = heard (row before yes) k S.
Proof.
  revert before k; induction yes as [| u yes IH]; intros before k last H; unfold last in *; clear last.
  - simpl in *. replace (k - 0) with k in H by lia. destruct H as [-> | ->]; destruct (S k), (S (k - 1)); lia.
  - cbn [row heard app]. f_equal. apply IH. cbn [length] in H. rewrite Nat2Z.inj_succ in H.
    replace (k - 1 - Z.of_nat (length yes)) with (k - Z.succ (Z.of_nat (length yes))) by lia. exact H.
Qed.

(** Of all events, the one of what [excess] adds up exceeds the bound most. *)
Lemma event_excess left right ps qs k S : length ps = length qs ->
  left * heard ps k S - right * heard qs k S <= excess left right ps qs.
Proof.
  revert qs k; induction ps as [| p ps IH]; intros [| q qs] k E; try discriminate; cbn [heard excess]; [lia|].
  injection E as E. specialize (IH qs (k - 1) E). destruct (S k); lia.
Qed.

Lemma heard_below weights k S S' : (forall j, j <= k -> S j = S' j) -> heard weights k S = heard weights k S'.
Proof.
  revert k; induction weights as [| w ws IH]; intros k E; cbn [heard]; [reflexivity|].
  rewrite (E k), (IH (k - 1)); [reflexivity | intros; apply E; lia | lia].
Qed.

(** There is such an event, and it does not look beyond the two ends. *)
Lemma excess_reached left right p ps q qs k : length ps = length qs -> exists S,
  left * heard (p :: ps) k S - right * heard (q :: qs) k S = excess left right (p :: ps) (q :: qs) /\
  (forall j, k <= j -> S j = S k) /\ (forall j, j <= k - Z.of_nat (length ps) -> S j = S (k - Z.of_nat (length ps))).
Proof.
  revert p q qs k; induction ps as [| p' ps IH]; intros p q [| q' qs] k E; try discriminate.
  - exists (fun _ => 0 <? left * p - right * q). split; [|split; reflexivity]. cbn [heard excess].
    destruct (Z.ltb_spec 0 (left * p - right * q)); lia.
  - injection E as E. destruct (IH p' q' qs (k - 1) E) as (S & A & B & C).
    exists (fun j => if k <=? j then 0 <? left * p - right * q else S j).
    assert (F : forall ws, heard ws (k - 1) (fun j => if k <=? j then 0 <? left * p - right * q else S j) = heard ws (k - 1) S).
    { intros ws. apply heard_below. intros j J. destruct (Z.leb_spec k j); [lia | reflexivity]. }
    split; [|split].
    + set (ws := p' :: ps) in *. set (vs := q' :: qs) in *. cbn [heard excess]. rewrite !F, Z.leb_refl.
      destruct (Z.ltb_spec 0 (left * p - right * q)); lia.
    + intros j J. rewrite (proj2 (Z.leb_le k j) J), Z.leb_refl. reflexivity.
    + cbn [length]. intros j J. destruct (Z.leb_spec k j), (Z.leb_spec k (k - Z.of_nat (Datatypes.S (length ps)))); try lia.
      rewrite (C j), (C (k - Z.of_nat (Datatypes.S (length ps)))) by lia. reflexivity.
Qed.

Lemma over_all_events_fits y d ps qs k S : length ps = length qs -> over_all_events y d ps qs = true ->
  fits one y d (heard ps k S) (heard qs k S) = true /\ fits one y d (heard qs k S) (heard ps k S) = true.
Proof.
  intros E. unfold over_all_events, fits. rewrite andb_true_iff, !Z.leb_le. intros [A B].
  pose proof (event_excess (Zpos (Qden y * Qden d)) (Qnum y * Zpos (Qden d)) ps qs k S E).
  pose proof (event_excess (Zpos (Qden y * Qden d)) (Qnum y * Zpos (Qden d)) qs ps k S (eq_sym E)). lia.
Qed.

(** ** Tails *)

Lemma rising_last before : forallb (Z.leb 0) (row before []) = true -> before <= one.
Proof. cbn [row forallb]. rewrite andb_true_r, Z.leb_le. lia. Qed.

Lemma rising_inv before t yes :
  forallb (Z.leb 0) (row before (t :: yes)) = true -> before <= t /\ forallb (Z.leb 0) (row t yes) = true.
Proof. cbn [row forallb]. rewrite andb_true_iff, Z.leb_le. intros [L H]. split; [lia | exact H]. Qed.

Lemma rising_least before yes n : forallb (Z.leb 0) (row before yes) = true -> before <= nth n yes one <= one.
Proof.
  revert before n; induction yes as [| t yes IH]; intros before n H.
  - apply rising_last in H. destruct n; simpl; lia.
  - apply rising_inv in H as [L H]. destruct n; simpl; [specialize (IH t 0%nat H) | specialize (IH t n H)]; lia.
Qed.

Lemma rising_nth before yes m n : forallb (Z.leb 0) (row before yes) = true -> (m <= n)%nat -> nth m yes one <= nth n yes one.
Proof.
  revert before m n; induction yes as [| t yes IH]; intros before m n H L.
  - destruct m, n; simpl; lia.
  - apply rising_inv in H as [_ H].
    destruct m, n; simpl; [lia | apply (rising_least t yes n H) | lia | apply (IH t); [exact H | lia]].
Qed.

Lemma heard_range before yes k S : forallb (Z.leb 0) (row before yes) = true -> 0 <= heard (row before yes) k S <= one - before.
Proof.
  revert before k; induction yes as [| t yes IH]; intros before k H.
  - apply rising_last in H. simpl. destruct (S k); lia.
  - apply rising_inv in H as [L H]. specialize (IH t (k - 1) H). simpl. destruct (S k); lia.
Qed.

Lemma heard_tail before yes k m : heard (row before yes) k (fun j => m <=? j) =
  if k <? m then 0 else nth (Z.to_nat (k - m)) yes one - before.
Proof.
  revert before k; induction yes as [| t yes IH]; intros before k.
  - simpl. destruct (Z.ltb_spec k m), (Z.leb_spec m k); try lia. destruct (Z.to_nat (k - m)); lia.
  - cbn [row heard]. rewrite IH. destruct (Z.ltb_spec k m), (Z.leb_spec m k), (Z.ltb_spec (k - 1) m); try lia.
    + replace (Z.to_nat (k - m)) with 0%nat by lia. simpl; lia.
    + replace (Z.to_nat (k - m)) with (Datatypes.S (Z.to_nat (k - 1 - m))) by lia. simpl; lia.
Qed.

(** A set of which every value has little at it and above is rare; so is one of which every value has little at it and below. *)
Lemma rare_above before yes k S x : forallb (Z.leb 0) (row before yes) = true -> 0 <= x ->
  (forall n, S (k - Z.of_nat n) = true -> nth n yes one - before <= x) -> heard (row before yes) k S <= x.
Proof.
  revert before k x; induction yes as [| t yes IH]; intros before k x H X A.
  - specialize (A 0%nat). simpl in A. replace (k - 0) with k in A by lia. simpl. destruct (S k); [specialize (A eq_refl)|]; lia.
  - apply rising_inv in H as [L H]. pose proof (A 0%nat) as A0. simpl in A0. replace (k - 0) with k in A0 by lia.
    assert (B : forall n, S (k - 1 - Z.of_nat n) = true -> nth n yes one - before <= x).
    { intros n Hn. apply (A (Datatypes.S n)). rewrite Nat2Z.inj_succ. rewrite <- Hn. f_equal. lia. }
    cbn [row heard]. destruct (S k); [specialize (A0 eq_refl)|].
    + enough (heard (row t yes) (k - 1) S <= x - (t - before)) by lia. apply IH; [exact H | lia|].
      intros n Hn. specialize (B n Hn). lia.
    + enough (heard (row t yes) (k - 1) S <= x) by lia. apply IH; [exact H | exact X|]. intros n Hn. specialize (B n Hn). lia.
Qed.

Lemma rare_below before yes k S x : forallb (Z.leb 0) (row before yes) = true -> 0 <= x ->
  (forall n, S (k - Z.of_nat n) = true -> one - nth n (before :: yes) one <= x) -> heard (row before yes) k S <= x.
Proof.
  revert before k; induction yes as [| t yes IH]; intros before k H X A; pose proof (A 0%nat) as A0; simpl in A0;
    replace (k - 0) with k in A0 by lia.
  - simpl. destruct (S k); [specialize (A0 eq_refl)|]; lia.
  - apply rising_inv in H as [L H]. cbn [row heard]. destruct (S k).
    + specialize (A0 eq_refl). pose proof (heard_range t yes (k - 1) S H). lia.
    + enough (heard (row t yes) (k - 1) S <= x) by lia. apply IH; [exact H | exact X|].
      intros n Hn. apply (A (Datatypes.S n)). rewrite Nat2Z.inj_succ. rewrite <- Hn. f_equal. lia.
Qed.

Lemma from_first (l : list Z) d : l <> [] -> l = nth 0 l d :: tl l.
Proof. destruct l; [congruence | reflexivity]. Qed.

Lemma to_last (l : list Z) d : l <> [] -> l = removelast l ++ [nth (length l - 1) l d].
Proof.
  intros N. pose proof (app_removelast_last d N) as E. rewrite E at 1. do 2 f_equal. rewrite E at 3. rewrite E at 2.
  rewrite app_length, Nat.add_sub, app_nth2, Nat.sub_diag by lia. reflexivity.
Qed.

Lemma heard_le before yes k S S' : forallb (Z.leb 0) (row before yes) = true -> (forall j, S j = true -> S' j = true) ->
  heard (row before yes) k S <= heard (row before yes) k S'.
Proof.
  intros H I. revert before k H; induction yes as [| t yes IH]; intros before k H; specialize (I k).
  - apply rising_last in H. simpl. destruct (S k); [rewrite I by reflexivity | destruct (S' k)]; lia.
  - apply rising_inv in H as [L H]. specialize (IH t (k - 1) H). cbn [row heard].
    destruct (S k); [rewrite I by reflexivity | destruct (S' k)]; lia.
Qed.

Lemma heard_split weights k S S1 S2 : (forall j, S j = (S1 j || S2 j)%bool /\ (S1 j && S2 j)%bool = false) ->
  heard weights k S = heard weights k S1 + heard weights k S2.
Proof.
  intros E. revert k; induction weights as [| w ws IH]; intros k; cbn [heard]; [reflexivity|]. rewrite IH.
  destruct (E k) as [-> D]. destruct (S1 k), (S2 k); simpl in *; try discriminate; lia.
Qed.

(** How many entries of a list come before the first one without a property: of a sorted list, Python's bisection. *)
Fixpoint leading (rare : Z -> bool) (l : list Z) : nat :=
  match l with t :: l => if rare t then Datatypes.S (leading rare l) else 0 | [] => 0 end.

Lemma leading_size rare l : (leading rare l <= length l)%nat.
Proof. induction l as [| t l IH]; simpl; [|destruct (rare t)]; lia. Qed.

Lemma leading_below rare l d n : (n < leading rare l)%nat -> rare (nth n l d) = true.
Proof.
  revert n; induction l as [| t l IH]; intros n; simpl; [lia|]. destruct (rare t) eqn:E; [|lia].
  destruct n; [intros; exact E | intros; apply IH; lia].
Qed.

Lemma leading_at rare l d : (leading rare l < length l)%nat -> rare (nth (leading rare l) l d) = false.
Proof. induction l as [| t l IH]; simpl; [lia|]. destruct (rare t) eqn:E; simpl; intros; [apply IH; lia | exact E]. Qed.

(** ** The noise of a table *)

Section Noise.
Variables (lowest : Z) (yes : list Z).
Hypothesis rises : rising yes = true.
Hypothesis some : yes <> [].

Let size := Z.of_nat (length yes).
Let highest := lowest + size - 1.

(** How often yes is said at a level; beyond an end as often as there (`Noise.chance`). *)
Definition chance (l : Z) : Z := nth (Nat.min (Z.to_nat (l - lowest)) (length yes - 1)) yes one.

(** The noise's own ends. *)
Definition ends_above := nth 0 yes one = 0.
Definition ends_below := nth (length yes - 1) yes one = one.

Let size_least : 1 <= size.
Proof. unfold size. pose proof (proj1 (length_zero_iff_nil yes)). destruct (length yes); [tauto | lia]. Qed.

Lemma chance_rises l l' : l <= l' -> chance l <= chance l'.
Proof. intros; unfold chance. apply (rising_nth 0 yes _ _ rises). lia. Qed.

Lemma chance_range l : 0 <= chance l <= one.
Proof. apply rising_least, rises. Qed.

(** Pr[l + N >= m] is the chance of yes at level l - m: for levels of the table, and beyond an end that is the noise's own. *)
Theorem tail_exact l m : lowest <= l - m \/ ends_above -> l - m <= highest \/ ends_below ->
  margin lowest yes l (fun k => m <=? k) = chance (l - m).
Proof.
  unfold margin, chance, ends_above, ends_below. rewrite heard_tail. intros A B.
  replace (l - lowest - m) with (l - m - lowest) by lia.
  destruct (Z.ltb_spec (l - lowest) m) as [L | L].
  - destruct A as [A | A]; [lia|]. replace (Z.to_nat (l - m - lowest)) with 0%nat by lia. simpl. rewrite A. reflexivity.
  - destruct (Nat.le_gt_cases (Z.to_nat (l - m - lowest)) (length yes - 1)) as [C | C].
    + rewrite Nat.min_l by exact C. lia.
    + rewrite Nat.min_r by lia. destruct B as [B | B]; [unfold highest, size in *; lia|]. rewrite B.
      rewrite nth_overflow by lia. lia.
Qed.

(** The sign of the margin is the table's answer. *)
Corollary sign_exact l : lowest <= l <= highest -> margin lowest yes l (fun k => 0 <=? k) = chance l.
Proof. intros; rewrite tail_exact; [f_equal; lia | left; lia | left; lia]. Qed.

(** Clipping changes nothing, where what is clipped is alike. *)
Theorem clipped_sign_exact cap l :
  1 <= cap -> (- cap <= l \/ - cap <= lowest) -> (l <= cap - 1 \/ highest <= cap - 1) ->
  (lowest <= - cap \/ ends_above) -> (cap - 1 <= highest \/ ends_below) ->
  margin lowest yes (clip cap l) (fun k => 0 <=? k) = chance l.
Proof.
  intros C A B E F. rewrite tail_exact by (unfold clip; destruct E, F; auto; lia). rewrite Z.sub_0_r.
  unfold chance. f_equal. unfold clip, highest, size in *. lia.
Qed.

(** *** All events *)

(** A set that does not tell apart what stands for the noise beyond an end that is not its own, at level l and at l + 1. *)
Definition settled (l : Z) (S : Z -> bool) :=
  (ends_above \/ S (l - lowest + 1) = S (l - lowest)) /\ (ends_below \/ S (l - highest) = S (l - highest - 1)).

(** Both rows that are compared are what they should be. *)
Lemma margins_are l S : settled l S ->
  margin lowest yes (l + 1) S = heard (row 0 (tl yes)) (l - lowest) S /\
  margin lowest yes l S = heard (row 0 (removelast yes)) (l - lowest) S.
Proof.
  intros [A B]. pose proof size_least as N. pose proof (from_first yes one some) as F. pose proof (to_last yes one some) as E.
  unfold margin. split.
  - rewrite F at 1. replace (l + 1 - lowest) with (l - lowest + 1) by lia. apply without_first. exact A.
  - rewrite E at 1. apply without_last. apply (f_equal (@length Z)) in E. rewrite app_length in E. simpl in E.
    unfold ends_below in B. unfold highest, size in *.
    replace (l - lowest - Z.of_nat (length (removelast yes))) with (l - (lowest + Z.of_nat (length yes) - 1)) by lia. exact B.
Qed.

Theorem all_events y d l S : margin_is_private y d yes = true -> settled l S ->
  fits one y d (margin lowest yes l S) (margin lowest yes (l + 1) S) = true /\
  fits one y d (margin lowest yes (l + 1) S) (margin lowest yes l S) = true.
Proof.
  unfold margin_is_private. rewrite andb_true_iff. intros [_ H] E. destruct (margins_are l S E) as [-> ->].
  apply and_comm. apply over_all_events_fits; [|exact H]. rewrite !row_length. f_equal.
  pose proof (f_equal (@length Z) (from_first yes one some)) as F.
  pose proof (f_equal (@length Z) (to_last yes one some)) as R. rewrite app_length in R. simpl in F, R. lia.
Qed.

(** ... and what is refused is not private. *)
Theorem all_events_iff y d l : margin_is_private y d yes = true <-> rising yes = true /\ forall S, settled l S ->
  fits one y d (margin lowest yes l S) (margin lowest yes (l + 1) S) = true /\
  fits one y d (margin lowest yes (l + 1) S) (margin lowest yes l S) = true.
Proof.
  split.
  - intros H. split; [unfold margin_is_private in H; apply andb_prop in H; apply H | intros S; apply all_events, H].
  - intros [R H]. unfold margin_is_private. rewrite R. unfold over_all_events. cbn [andb].
    assert (L : length (row 0 (tl yes)) = length (row 0 (removelast yes)) /\ Z.of_nat (length (row 0 (tl yes))) = size).
    { rewrite !row_length. pose proof (f_equal (@length Z) (from_first yes one some)) as F.
      pose proof (f_equal (@length Z) (to_last yes one some)) as E. rewrite app_length in E. unfold size. simpl in F, E. lia. }
    assert (G : forall S, settled l S ->
      Zpos (Qden y * Qden d) * heard (row 0 (tl yes)) (l - lowest) S
      - Qnum y * Zpos (Qden d) * heard (row 0 (removelast yes)) (l - lowest) S <= Zpos (Qden y) * Qnum d * one /\
      Zpos (Qden y * Qden d) * heard (row 0 (removelast yes)) (l - lowest) S
      - Qnum y * Zpos (Qden d) * heard (row 0 (tl yes)) (l - lowest) S <= Zpos (Qden y) * Qnum d * one).
    { intros S E. specialize (H S E). destruct (margins_are l S E) as [A B]. rewrite A, B in H. unfold fits in H.
      rewrite !Z.leb_le in H. lia. }
    destruct L as [L N]. destruct (row 0 (tl yes)) as [| p ps], (row 0 (removelast yes)) as [| q qs]; try discriminate.
    { cbn [length] in N; lia. }
    injection L as L. cbn [length] in N. rewrite andb_true_iff, !Z.leb_le.
    assert (W : forall S, (forall j, l - lowest <= j -> S j = S (l - lowest)) ->
      (forall j, j <= l - highest -> S j = S (l - highest)) -> settled l S).
    { intros S A B. split; right; [apply A; lia | symmetry; apply B; lia]. }
    assert (E : l - highest = l - lowest - Z.of_nat (length ps)) by (unfold highest; lia).
    split.
    + destruct (excess_reached (Zpos (Qden y * Qden d)) (Qnum y * Zpos (Qden d)) p ps q qs (l - lowest) L) as (S & <- & A & B).
      apply (G S), W; [exact A | rewrite E; exact B].
    + destruct (excess_reached (Zpos (Qden y * Qden d)) (Qnum y * Zpos (Qden d)) q qs p ps (l - lowest) (eq_sym L))
        as (S & <- & A & B). apply (G S), W; [exact A | rewrite E, L; exact B].
Qed.

(** Where the noise goes on beyond the table, the table is wide enough for levels that are clipped. *)
Definition wide (cap : Z) :=
  1 <= cap /\ (ends_above \/ lowest <= 1 - 2 * cap) /\ (ends_below \/ 2 * cap - 2 <= highest).

(** There, margins beyond cap are not told apart. *)
Definition seen (cap : Z) (S : Z -> bool) :=
  (ends_above \/ forall k, cap - 1 <= k -> S k = S (cap - 1)) /\ (ends_below \/ forall k, k <= - cap -> S k = S (- cap)).

Lemma bounded_seen cap S : ends_above -> ends_below -> seen cap S.
Proof. split; left; assumption. Qed.

Lemma clamped_seen cap S : 1 <= cap -> seen cap (fun k => S (clip cap k)).
Proof. intros C; split; right; intros k K; f_equal; unfold clip; lia. Qed.

Lemma fits_itself y d a : Zpos (Qden y) <= Qnum y -> 0 <= Qnum d -> 0 <= one -> 0 <= a -> fits one y d a a = true.
Proof. intros Y D O A. unfold fits. rewrite Z.leb_le, Pos2Z.inj_mul. nia. Qed.

(** Levels that differ by at most 1, clipped, and any set of margins: Definition 1. *)
Theorem clipped_private y d cap l l' S : margin_is_private y d yes = true -> Zpos (Qden y) <= Qnum y -> 0 <= Qnum d ->
  wide cap -> seen cap S -> Z.abs (l - l') <= 1 ->
  fits one y d (margin lowest yes (clip cap l) S) (margin lowest yes (clip cap l') S) = true.
Proof.
  intros H Y D (C & Wa & Wb) (Sa & Sb) N. pose proof H as K. unfold margin_is_private in K. apply andb_prop in K as [R _].
  assert (G : forall c, - cap <= c -> c + 1 <= cap - 1 -> settled c S).
  { intros c Lc Uc. split.
    - destruct Sa as [E | E]; [left; exact E|]. destruct Wa as [E' | W]; [left; exact E'|].
      right. rewrite (E (c - lowest)) by lia. apply E; lia.
    - destruct Sb as [E | E]; [left; exact E|]. destruct Wb as [E' | W]; [left; exact E'|].
      right. rewrite (E (c - highest)) by lia. symmetry. apply E; lia. }
  pose proof (clip_near cap l l' N) as M. assert (Bl : - cap <= clip cap l <= cap - 1) by (unfold clip; lia).
  assert (Bl' : - cap <= clip cap l' <= cap - 1) by (unfold clip; lia).
  set (c := clip cap l) in *. set (c' := clip cap l') in *.
  assert (T : c' = c \/ c' = c + 1 \/ c = c' + 1) by lia. destruct T as [T | [T | T]].
  - rewrite T. pose proof (rising_least 0 yes 0 R) as O. pose proof (heard_range 0 yes (c - lowest) S R) as P.
    apply fits_itself; unfold margin; lia.
  - rewrite T. apply all_events; [exact H | apply G; lia].
  - rewrite T. apply all_events; [exact H | apply G; lia].
Qed.

(** Whatever becomes of the margin, clamped as it is released: its sign, a p-value, another question's answer. *)
Corollary processed_private {A} (f : Z -> A) y d cap l l' (S : A -> bool) : margin_is_private y d yes = true ->
  Zpos (Qden y) <= Qnum y -> 0 <= Qnum d -> wide cap -> Z.abs (l - l') <= 1 ->
  fits one y d (margin lowest yes (clip cap l) (fun k => S (f (clip cap k))))
               (margin lowest yes (clip cap l') (fun k => S (f (clip cap k)))) = true.
Proof.
  intros H Y D W N. apply clipped_private; try assumption. apply (clamped_seen cap (fun k => S (f k))), W.
Qed.

(** ** What a margin says *)

(** A margin as it is shown: on its own side, and no further out; as it is, or clamped. *)
Definition nearer (shown : Z -> Z) := forall k, (0 <= shown k -> shown k <= k) /\ (shown k < 0 -> k <= shown k).

Lemma nearer_itself : nearer (fun k => k).
Proof. intros k; lia. Qed.

Lemma nearer_clamped cap : 1 <= cap -> nearer (clip cap).
Proof. intros C k; unfold clip; lia. Qed.

(** How often a margin as far from 0 comes up where the truth is the other answer, at most (`Noise.p_value`), of ONE. *)
Definition p_value (k : Z) : Z := if 0 <=? k then chance (-1 - k) else one - chance (-1 - k).

(** A set of margins is rare at a level if each of them and all above are, or each and all below. *)
Lemma rare_margins_above l S x : 0 <= x -> (forall k, S k = true -> l - k <= highest /\ chance (l - k) <= x) ->
  margin lowest yes l S <= x.
Proof.
  intros X H. apply rare_above; [exact rises | exact X|]. intros n Hn. destruct (H _ Hn) as [A B].
  eapply Z.le_trans; [|exact B]. unfold chance, highest, size in *. rewrite Z.sub_0_r. apply (rising_nth 0 yes _ _ rises). lia.
Qed.

Lemma rare_margins_below l S x : 0 <= x -> (forall k, S k = true -> lowest <= l - k - 1 /\ one - chance (l - k - 1) <= x) ->
  margin lowest yes l S <= x.
Proof.
  intros X H. apply rare_below; [exact rises | exact X|]. intros [| n] Hn; destruct (H _ Hn) as [A B]; [lia|].
  enough (chance (l - (l - lowest - Z.of_nat (Datatypes.S n)) - 1) <= nth n yes one) by (simpl; lia).
  unfold chance. apply (rising_nth 0 yes _ _ rises). lia.
Qed.

Hypotheses (down_from : lowest <= 0) (up_to : 0 <= highest).

(** Under no level of the other truth is a margin so far out more frequent than its p-value says. *)
Theorem p_value_bound k :
  (0 <= k -> forall l, l <= -1 -> margin lowest yes l (fun j => k <=? j) <= p_value k) /\
  (k < 0 -> forall l, 0 <= l -> margin lowest yes l (fun j => j <=? k) <= p_value k).
Proof.
  unfold p_value. pose proof (chance_range (-1 - k)) as C. split; intros K l L.
  - rewrite (proj2 (Z.leb_le 0 k)) by exact K. apply rare_margins_above; [lia|]. intros j J. apply Z.leb_le in J.
    split; [lia|]. apply chance_rises; lia.
  - rewrite (proj2 (Z.leb_gt 0 k)) by exact K. apply rare_margins_below; [lia|]. intros j J. apply Z.leb_le in J.
    split; [lia|]. pose proof (chance_rises (-1 - k) (l - j - 1) ltac:(lia)). lia.
Qed.

(** A p-value: under no level of the other truth is it x or less more often than x. *)
Theorem p_value_sound shown x : nearer shown -> 0 <= x ->
  (forall l, l <= -1 -> margin lowest yes l (fun k => (0 <=? shown k) && (p_value (shown k) <=? x)) <= x) /\
  (forall l, 0 <= l -> margin lowest yes l (fun k => (shown k <? 0) && (p_value (shown k) <=? x)) <= x).
Proof.
  intros N X. split; intros l L; [apply rare_margins_above | apply rare_margins_below]; try exact X; intros k K;
    apply andb_prop in K as [K P]; destruct (N k) as [A B]; unfold p_value in P; apply Z.leb_le in P.
  - rewrite K in P. apply Z.leb_le in K. specialize (A K). split; [lia|].
    pose proof (chance_rises (l - k) (-1 - shown k) ltac:(lia)). lia.
  - apply Z.ltb_lt in K. rewrite (proj2 (Z.leb_gt 0 _) K) in P. specialize (B K). split; [lia|].
    pose proof (chance_rises (-1 - shown k) (l - k - 1) ltac:(lia)). lia.
Qed.

(** What is certain (`Answer.certain`): where the p-value is 0, no level of the other truth ever gives such a margin. *)
Corollary certain_sound shown : nearer shown ->
  (forall l, l <= -1 -> margin lowest yes l (fun k => (0 <=? shown k) && (p_value (shown k) =? 0)) = 0) /\
  (forall l, 0 <= l -> margin lowest yes l (fun k => (shown k <? 0) && (p_value (shown k) =? 0)) = 0).
Proof.
  intros N. destruct (p_value_sound shown 0 N ltac:(lia)) as [A B].
  assert (E : forall v, (v =? 0) = true -> (v <=? 0) = true) by (intros v V; apply Z.eqb_eq in V; apply Z.leb_le; lia).
  split; intros l L; (apply Z.le_antisymm; [|apply heard_range, rises]).
  - eapply Z.le_trans; [|apply (A l L)]. apply heard_le; [exact rises|]. intros k. rewrite !andb_true_iff. firstorder.
  - eapply Z.le_trans; [|apply (B l L)]. apply heard_le; [exact rises|]. intros k. rewrite !andb_true_iff. firstorder.
Qed.

(** *** A bound on how many people would have to be different (`Noise.at_least`) *)

(** How many people really would: a level of yes is that number less one, one of no is minus it. *)
Definition from_flipping (l : Z) : Z := if 0 <=? l then l + 1 else - l.

(** What the bound says of a margin, where so much of ONE is seldom enough for either side. *)
Definition at_least (share k : Z) : Z :=
  let rare := Z.of_nat (leading (fun t => t <=? share) yes) in
  let often := Z.of_nat (leading (fun t => t <? one - share) yes) in
  if 0 <=? k then if 0 <? rare then Z.max 0 (k + lowest + rare + 1) else 0
  else if often <? size then Z.max 0 (- k - lowest - often) else 0.

(** It is wrong where it says more than the truth, or says anything at all of the wrong answer. *)
Definition too_much (share l k : Z) : bool :=
  (0 <? at_least share k) && (negb (Bool.eqb (0 <=? k) (0 <=? l)) || (from_flipping l <? at_least share k)).

(** Of a yes, and of a no, it is seldom wrong; so of an answer with twice that. *)
Theorem at_least_sound cap shown share l : nearer shown -> 1 <= cap -> 0 <= share ->
  margin lowest yes (clip cap l) (fun k => (0 <=? shown k) && too_much share l (shown k)) <= share /\
  margin lowest yes (clip cap l) (fun k => (shown k <? 0) && too_much share l (shown k)) <= share.
Proof.
  intros N C X. split; [apply rare_margins_above | apply rare_margins_below]; try exact X; intros k K;
    apply andb_prop in K as [K W]; destruct (N k) as [A B]; apply andb_prop in W as [W1 W2]; unfold at_least in W1, W2.
  - rewrite K in W1, W2. apply Z.leb_le in K. specialize (A K).
    pose proof (leading_below (fun t => t <=? share) yes one) as G. cbv beta in G.
    pose proof (leading_size (fun t => t <=? share) yes) as Z0. set (n := leading _ yes) in *.
    destruct (Z.ltb_spec 0 (Z.of_nat n)) as [P | _]; [|discriminate].
    assert (L : l + 1 < shown k + lowest + Z.of_nat n + 1).
    { apply Z.ltb_lt in W1. unfold from_flipping in W2. destruct (Z.leb_spec 0 l); [apply Z.ltb_lt in W2|]; lia. }
    assert (L' : clip cap l + 1 < shown k + lowest + Z.of_nat n + 1 \/ l < - cap) by (unfold clip; lia).
    assert (D : clip cap l - k <= lowest + Z.of_nat n - 1).
    { destruct L' as [L' | L']; [lia|]. unfold clip. apply Z.ltb_lt in W1. lia. }
    split; [unfold highest, size; lia|]. eapply Z.le_trans; [apply chance_rises, D|]. unfold chance.
    replace (Nat.min _ _) with (n - 1)%nat by lia. apply Z.leb_le. apply G. lia.
  - apply Z.ltb_lt in K. specialize (B K). rewrite (proj2 (Z.leb_gt 0 _) K) in W1, W2.
    pose proof (leading_at (fun t => t <? one - share) yes one) as G. cbv beta in G. set (n := leading _ yes) in *.
    destruct (Z.ltb_spec (Z.of_nat n) size) as [P | _]; [|discriminate].
    assert (L : - l < - shown k - lowest - Z.of_nat n).
    { apply Z.ltb_lt in W1. unfold from_flipping in W2. destruct (Z.leb_spec 0 l); [|apply Z.ltb_lt in W2]; lia. }
    assert (D : lowest + Z.of_nat n <= clip cap l - k - 1).
    { apply Z.ltb_lt in W1. unfold clip. lia. }
    split; [lia|]. pose proof (chance_rises _ _ D) as M. unfold chance in M at 1.
    replace (Nat.min _ _) with n in M by (unfold size in *; lia). unfold size in P. specialize (G ltac:(lia)).
    apply Z.ltb_ge in G. lia.
Qed.

Corollary at_least_wrong_seldom cap shown share l : nearer shown -> 1 <= cap -> 0 <= share ->
  margin lowest yes (clip cap l) (fun k => too_much share l (shown k)) <= 2 * share.
Proof.
  intros N C X. destruct (at_least_sound cap shown share l N C X) as [A B].
  enough (E : margin lowest yes (clip cap l) (fun k => too_much share l (shown k)) =
    margin lowest yes (clip cap l) (fun k => (0 <=? shown k) && too_much share l (shown k)) +
    margin lowest yes (clip cap l) (fun k => (shown k <? 0) && too_much share l (shown k))) by lia.
  apply heard_split. intros k. destruct (Z.leb_spec 0 (shown k)), (Z.ltb_spec (shown k) 0); try lia;
    destruct (too_much share l (shown k)); split; reflexivity.
Qed.

End Noise.
End Margin.

(** Not in vain: noise of 0 half of the time, and of 1 and -1 a quarter each; and the bound needs a share for either side. *)
Example small_margin :
  margin_is_private 4 (3 # 1) (1 # 4) [0; 1; 3; 4] = true /\ margin_is_private 4 (3 # 1) (15 # 64) [0; 1; 3; 4] = false /\
  margin 4 (-2) [0; 1; 3; 4] 0 (fun k => 0 <=? k) = 3 /\ p_value 4 (-2) [0; 1; 3; 4] 0 = 1 /\
  margin 4 (-2) [0; 1; 3; 4] 0 (too_much 4 (-2) [0; 1; 3; 4] 1 0) = 2.
Proof. vm_compute. repeat split. Qed.
